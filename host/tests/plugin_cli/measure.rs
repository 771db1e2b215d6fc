//! `tailorbird plugin bench`.

use crate::common::Bench;
use crate::component::Guest;
use crate::{echo, policies, put};

#[test]
fn a_function_is_measured() {
    let bench = Bench::new();
    put(&bench, "net.wasm", &echo("net").component());
    let line = "plugin bench net.wasm --function f words";
    let all = bench.run(&format!("{line} -o json")).ends(0).silent().json();
    assert_eq!(all["plugin"], "net");
    let rows = all["measured"].as_array().unwrap();
    let calls: Vec<&str> = rows.iter().map(|row| row["call"].as_str().unwrap()).collect();
    assert_eq!(calls, ["instantiate and configure", "functions.call f"]);
    for row in rows {
        assert!(row["calls"].as_u64().unwrap() > 0 && row["fuel"].as_u64().unwrap() > 0, "{row}");
        let [median, p99] = ["median_ns", "p99_ns"].map(|name| row[name].as_u64().unwrap());
        assert!(0 < median && median <= p99, "{row}");
    }
    let ran = bench.run(line).ends(0).silent();
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("call ") && lines[2].starts_with("functions.call f "));
}

#[test]
fn what_cannot_be_measured_is_said() {
    let bench = Bench::new();
    put(&bench, "trap.wasm", &Guest::function("trap", "(unreachable)").component());
    bench.run("plugin bench trap.wasm").ends(1).prints_nothing().tells("there is nothing to call");
    bench.run("plugin bench trap.wasm --function f").ends(1).prints_nothing().tells("unreachable");
    bench.run("plugin bench trap.wasm words").ends(2).tells("--function");
}

#[test]
fn all_plugins_are_measured_while_all_are_asked() {
    let bench = policies::bench();
    put(&bench, "strict.wasm", &policies::refusing().component());
    put(&bench, "picky.wasm", &policies::dropping(0).component());
    let scene = "--objects objects --node worker-1 --plugin strict.wasm --plugin picky.wasm";
    let line = format!("bench plugins --runs 2 {scene}");
    let all = bench.run(&format!("{line} -o json")).ends(0).json();
    let calls = |list: &str| -> Vec<String> {
        let rows = all[list].as_array().unwrap().iter();
        rows.map(|row| format!("{} {} {}", row["what"].as_str().unwrap(), row["calls"], row["items"]))
            .collect()
    };
    assert_eq!(
        calls("from_nothing"),
        ["strict filter.advertise 1 1", "strict filter.rules 1 1", "picky peers.select 1 4"]
    );
    assert!(all["renderings"].as_array().unwrap().len() == 3, "{all}");
    let ran = bench.run(&line).ends(0).tells("plugin strict");
    for words in ["A rendering from nothing takes ", "The slowest call is "] {
        assert!(ran.out.lines().any(|line| line.starts_with(words)), "{}", ran.out);
    }

    let rendering = bench.run(&format!("bench render --runs 2 {scene} -o json")).ends(0).json();
    let names: Vec<_> =
        rendering["plugins"].as_array().unwrap().iter().map(|row| row["what"].clone()).collect();
    assert_eq!(names, ["strict", "picky"]);

    // A plugin that fails would make another work of it.
    put(&bench, "picky.wasm", &policies::dropping(77).component());
    bench
        .run(&line)
        .ends(1)
        .prints_nothing()
        .tells("nothing is measured, because plugins fail with these objects");
}
