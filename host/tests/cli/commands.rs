//! The other commands, the help, the environment and the streams.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::common::{Bench, Ran, read_set};

#[test]
fn help_and_version() {
    let bench = Bench::new();
    bench.run("--version").ends(0).silent().prints(concat!("tailorbird ", env!("CARGO_PKG_VERSION"), "\n"));
    bench.run("--help").ends(0).silent().prints("Exit codes:").prints("TAILORBIRD_BIRD1");
    let commands = ["render", "check", "diff", "get", "templates", "templates export", "completions"];
    let of_plugins =
        ["new", "build", "inspect", "run", "test", "bench"].map(|command| format!("plugin {command}"));
    for command in commands.map(str::to_owned).into_iter().chain(of_plugins) {
        let ran = bench.run(&format!("{command} --help")).ends(0).silent();
        let bare = ran.out.lines().filter(|line| {
            let line = line.trim();
            line.starts_with("--") && !line.contains("  ")
        });
        assert_eq!(bare.count(), 0, "each option says what it does: {}", ran.out);
    }
    bench.run("").ends(2).prints_nothing().tells("Usage: tailorbird");
}

#[test]
fn wrong_use_is_told_on_standard_error() {
    let bench = Bench::new();
    bench.run("nosuch").ends(2).prints_nothing().tells("nosuch");
    bench.run("render --node worker-1").ends(2).prints_nothing().tells("--objects <PATH>");
    bench.run("render --objects OBJECTS --out OUT").ends(2).prints_nothing().tells("--node <NAME>");
    bench.run("render --objects OBJECTS --node bad/name").ends(2).prints_nothing().tells("'bad/name'");
    bench.run("render --objects OBJECTS --node worker-1 --check-timeout 0").ends(2).tells("--check-timeout");
    bench.run("completions tcsh").ends(2).prints_nothing();
    assert!(!bench.out().exists());
}

#[test]
fn the_environment_counts() {
    let bench = Bench::new();
    let run = |line: &str, variable: &str, value: &str| Ran::of(bench.command(line).env(variable, value));
    run("render --objects OBJECTS --out OUT", "NODENAME", "worker-2").ends(0);
    assert!(bench.set()["bird.cfg"].contains("router id 10.0.0.2;"));
    // The flag wins.
    run("render --objects OBJECTS --node worker-1 --out OUT", "NODENAME", "worker-2").ends(0);
    assert!(bench.set()["bird.cfg"].contains("router id 10.0.0.1;"));
    run("render --objects OBJECTS --node worker-1 --out OUT", "CALICO_ROUTER_ID", "9.8.7.6").ends(0);
    assert!(bench.set()["bird.cfg"].contains("router id 9.8.7.6;"));
    run("render --objects OBJECTS --node worker-1 --out OUT", "CALICO_ADVERTISE_CLUSTER_IPS", "10.96.0.0/12")
        .ends(0);
    assert!(bench.set()["bird_aggr.cfg"].contains("10.96.0.0/12"));
    run("get /calico/bgp/v1/global/peer_v4 --objects OBJECTS --node worker-1", "NAMESPACE", "elsewhere")
        .ends(0)
        .tells("BGPPeer switch: spec.password")
        .prints("\"password\":null");
    for (variable, value) in [
        ("CALICO_ROUTER_ID", "x"),
        ("CALICO_ADVERTISE_CLUSTER_IPS", "x"),
        ("USE_POD_CIDR", "maybe"),
        ("NAMESPACE", "a b"),
    ] {
        for command in ["render --out OUT", "check", "diff --out OUT", "get"] {
            run(&format!("{command} --objects OBJECTS --node worker-1"), variable, value)
                .ends(2)
                .prints_nothing()
                .tells(&format!("error: {variable}=\"{value}\": "));
        }
    }
    // An empty one is as if unset.
    run("check --objects OBJECTS --node worker-1", "CALICO_ROUTER_ID", "").ends(0).silent();
}

#[test]
fn diff_tells_what_would_change() {
    let bench = Bench::new();
    let diff = "diff --objects OBJECTS --node worker-1 --out OUT";
    bench.run(diff).ends(1).silent().prints("--- /dev/null\n+++ ").prints("\n+router id 10.0.0.1;\n");
    assert!(!bench.out().exists(), "diff writes nothing");
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(0);
    bench.run(diff).ends(0).silent().prints_nothing();
    let ran = bench.run("diff --objects OBJECTS --node worker-2 --out OUT").ends(1).silent();
    let ran = ran.prints("\n-router id 10.0.0.1;\n+router id 10.0.0.2;\n");
    assert!(!ran.out.contains('\u{1b}'), "no colours where there is no terminal");
    bench
        .run("diff --objects OBJECTS --node nosuch --out OUT")
        .ends(2)
        .prints_nothing()
        .tells("error: there is no node nosuch");
    bench
        .run("diff --objects nosuch --node worker-1 --out OUT")
        .ends(2)
        .prints_nothing()
        .tells("error: nosuch: ");
    fs::remove_file(bench.out().join("bird.cfg")).unwrap();
    fs::create_dir(bench.out().join("bird.cfg")).unwrap();
    bench.run(diff).ends(2).tells("bird.cfg: ");
}

#[test]
fn get_prints_keys_and_values() {
    let bench = Bench::new();
    let ran = bench.run("get /calico/v1/ipam --objects OBJECTS --node worker-1").ends(0).silent();
    assert_eq!(ran.out.lines().count(), 1);
    let ran = ran.prints("/calico/v1/ipam/v4/pool/10.64.0.0-16 {");
    for same in ["/calico/v1/ipam/", "calico/v1/ipam", "//calico/v1/ipam"] {
        let other = bench.run(&format!("get {same} --objects OBJECTS --node worker-1")).ends(0);
        assert_eq!(other.out, ran.out, "{same}");
    }
    let all = bench.run("get --objects OBJECTS --node worker-1 -o json").ends(0).silent().json();
    assert_eq!(all["/calico/bgp/v1/global/as_num"], "64512");
    assert_eq!(all["/calico/bgp/v1/host/worker-2/ip_addr_v4"], "10.0.0.2");
    bench
        .run("get /calico/v1/ip --objects OBJECTS --node worker-1")
        .ends(1)
        .prints_nothing()
        .tells("error: there is no key at or below /calico/v1/ip");
}

#[test]
fn exported_templates_give_the_same_files() {
    let bench = Bench::new();
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(0);
    let ran = bench.run("templates export conf").ends(0).silent().prints("conf/conf.d/bird.toml\n");
    for path in ran.out.lines() {
        assert!(bench.path(path).is_file(), "{path}");
    }
    bench.run("render --objects OBJECTS --node worker-1 --confdir conf --out other").ends(0).silent();
    assert_eq!(bench.set(), read_set(&bench.path("other")));

    let template = bench.path("conf/templates/bird.hbs");
    let text = fs::read_to_string(&template).unwrap();
    fs::write(&template, format!("{text}# my own line\n")).unwrap();
    bench
        .run("diff --objects OBJECTS --node worker-1 --confdir conf --out OUT")
        .ends(1)
        .silent()
        .prints("\n+# my own line\n");
    bench
        .run("templates export conf")
        .ends(1)
        .prints_nothing()
        .tells("bird.hbs exists and differs; nothing was written");
    bench.run("templates export conf --force").ends(0);
    assert_eq!(fs::read_to_string(&template).unwrap(), text);
}

#[test]
fn doctor_tries_what_is_on_the_node_and_says_what_fails() {
    let bench = Bench::new();
    bench.run("templates export conf").ends(0);
    let doctor = || {
        let mut command = bench.command("doctor --node worker-1 --config tailorbird.toml --confdir conf");
        // Neither BIRD nor a cluster that this machine may have.
        Ran::of(command.env("TAILORBIRD_BIRD_SOCKETS", "run").env("HOME", bench.path("home"))).ends(1)
    };
    bench.put("tailorbird.toml", "");
    let ran = doctor().prints("ok      configuration file: can be used\n");
    let ran = ran.prints("ok      plugins: 0 can be used\n").prints("ok      templates: can be used\n");
    ran.prints("FAILED  bird: run/bird.ctl: ").prints("is BIRD running").prints("KUBECONFIG names");
    for (file, text, failed) in [
        ("tailorbird.toml", "colour = 1\n", "FAILED  configuration file: tailorbird.toml: "),
        ("tailorbird.toml", "[[plugin]]\npath = \"none.wasm\"\n", "FAILED  plugins: "),
        ("conf/templates/bird.hbs", "{{#if}\n", "FAILED  templates: "),
    ] {
        bench.put(file, text);
        let ran = doctor().prints(failed);
        assert!(!ran.out.contains("all is as it should be"), "{ran:#?}");
    }
}

#[test]
fn templates_that_cannot_be_used_are_errors() {
    let bench = Bench::new();
    let line = "render --objects OBJECTS --node worker-1 --confdir conf --out OUT";
    bench.run(line).ends(1).prints_nothing().tells("there is no folder conf/conf.d");
    fs::create_dir_all(bench.path("conf/conf.d")).unwrap();
    bench.run(line).ends(1).prints_nothing().tells("there is no template resource (*.toml) in conf/conf.d");
    fs::remove_dir_all(bench.path("conf")).unwrap();
    bench.run("templates export conf").ends(0);
    bench.put("conf/templates/bird.hbs", "{{#if}\n");
    let ran = bench.run(line).ends(1).tells("bird.toml").tells("bird6.toml");
    assert_eq!(ran.err.matches("error: ").count(), 2, "{}", ran.err);
    // A resource that cannot be used holds up its own group and no other.
    bench.run("templates export conf --force").ends(0);
    bench.put("conf/conf.d/bird6_aggr.toml", "[template]\ndest = \"/x/bird6_aggr.cfg\"\ngroup = \"bird6\"\n");
    let ran = bench.run(line).ends(1).tells("bird6_aggr.toml: `src`: missing").prints("bird6: FAILED");
    assert!(ran.out.contains("bird.cfg"), "{}", ran.out);
    assert!(bench.out().join("bird.cfg").exists(), "{}", ran.out);
    assert!(!bench.out().join("bird6.cfg").exists(), "{}", ran.out);
    bench.put("conf/conf.d/bird6_aggr.toml", "[templ");
    bench.run(line).ends(1).prints_nothing().tells("nobody can tell which group");
    // An error while rendering names the file, the template and the line; the other group is written.
    bench.run("templates export conf --force").ends(0);
    bench.put("conf/templates/bird_ipam.hbs", "#\n{{nosuch.name}}\n");
    bench.run(line).ends(1).tells("bird_ipam.hbs, line 2");
    // Go's template language is known and refused.
    bench.put("conf/templates/bird_ipam.hbs", "{{range gets \"/x\"}}{{.Key}}{{end}}\n");
    bench.run(line).ends(1).tells("Go");
}

#[test]
fn completions_for_every_shell() {
    let bench = Bench::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        bench
            .run(&format!("completions {shell}"))
            .ends(0)
            .silent()
            .prints("templates")
            .prints("check-timeout");
    }
}

/// `tailorbird get | head -1`, and a reader that is gone before the first word.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::new();
    let mut big = String::new();
    for i in 0..3000 {
        big += &format!(
            "---\napiVersion: v1\nkind: Node\nmetadata: {{name: n{i}, annotations: {{projectcalico.org/IPv4Address: 10.1.{}.{}/16}}}}\n",
            i / 250,
            i % 250 + 1
        );
    }
    bench.put("objects/nodes.yaml", &big);
    for line in [
        "get --objects OBJECTS --node worker-1",
        "diff --objects OBJECTS --node worker-1 --out OUT",
        "completions bash",
    ] {
        let mut child = bench.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        reader.read_line(&mut String::new()).unwrap();
        drop(reader);
        let mut errors = String::new();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let status = child.wait().unwrap();
        assert!(errors.is_empty(), "{line}: {errors}");
        assert!(status.code().is_some_and(|code| code <= 1), "{line}: {status}");
    }
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = bench.command("get --objects OBJECTS --node worker-1");
    let ran = command.stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(1));
    assert!(String::from_utf8(ran.stderr).unwrap().starts_with("error: cannot write to standard output: "));
}

/// Colours are for terminals; `script` makes one.
#[test]
fn colours_on_a_terminal_alone() {
    let bench = Bench::new();
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(0);
    let inner = bench.command("diff --objects OBJECTS --node worker-2 --out OUT");
    let words = std::iter::once(inner.get_program()).chain(inner.get_args());
    let line: Vec<String> = words.map(|word| word.to_str().unwrap().to_owned()).collect();
    let terminal = |variable: Option<&str>| {
        let mut script = Command::new("script");
        script.args(["-qec", &line.join(" "), "/dev/null"]).env_remove("NO_COLOR").stdin(Stdio::null());
        script.env("CALICO_ENDPOINT_STATUS_PATH_PREFIX", bench.path("calico"));
        if let Some(variable) = variable {
            script.env(variable, "1");
        }
        script.output().ok().map(|ran| String::from_utf8_lossy(&ran.stdout).into_owned())
    };
    let Some(shown) = terminal(None) else {
        println!("SKIPPED: there is no program `script` to make a terminal with");
        return;
    };
    assert!(shown.contains("\u{1b}[31m-router id 10.0.0.1;"), "{shown}");
    assert!(!terminal(Some("NO_COLOR")).unwrap().contains('\u{1b}'));
}
