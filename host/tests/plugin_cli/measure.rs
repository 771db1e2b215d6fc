//! `tailorbird plugin bench`.

use crate::common::Bench;
use crate::component::Guest;
use crate::{echo, put};

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
