//! Passwords are in BIRD's files, and nowhere else.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::common::{Bench, CLUSTER, Ran, SECRET};

#[test]
fn no_output_shows_a_password() {
    let bench = Bench::new();
    let said = RefCell::new(String::new());
    let run = |line: &str| {
        for level in ["", "debug", "trace"] {
            let ran = Ran::of(bench.command(line).env("BGP_LOGSEVERITYSCREEN", level));
            *said.borrow_mut() += &format!("{line} at {level}:\n{}\n{}\n", ran.out, ran.err);
        }
    };
    run("diff --objects OBJECTS --node worker-1 --out OUT");
    run("render --objects OBJECTS --node worker-1 --out OUT");
    run("render --objects OBJECTS --node worker-2 --out OUT -o json");
    run("diff --objects OBJECTS --node worker-1 --out OUT");
    run("check --objects OBJECTS --node worker-1");
    run("get --objects OBJECTS --node worker-1");
    run("get --objects OBJECTS --node worker-1 -o json");
    assert!(bench.set()["bird.cfg"].contains(&format!("password \"{SECRET}\";")));

    // The line that BIRD refuses is the one with the password, and BIRD repeats it.
    bench.daemon("bird", "grep -n password \"$3\"; echo \"$3:$(grep -n password \"$3\" | cut -d: -f1):3 bad password\"; exit 1");
    run("render --objects OBJECTS --node worker-1 --out other");
    run("check --objects OBJECTS --node worker-1 -o json");
    bench.daemon("bird", "exit 0");

    // Templates that break where the password is.
    run("templates export conf");
    let template = bench.path("conf/templates/bird.hbs");
    let text = fs::read_to_string(&template).unwrap();
    let broken = text.replace("password", "password {{nosuch}}");
    assert_ne!(text, broken);
    fs::write(&template, broken).unwrap();
    run("render --objects OBJECTS --node worker-1 --confdir conf --out other");
    fs::write(&template, text.replace("password", "password\n   ")).unwrap();
    run("diff --objects OBJECTS --node worker-1 --confdir conf --out OUT");

    // Malformed objects around the secret.
    bench.put("objects/secret.yaml", &format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: bgp, namespace: kube-system}}\nstringData: {{switch: \"{SECRET}\\n\"}}\n"));
    run("render --objects OBJECTS --node worker-1 --out OUT");
    bench.put("objects/secret.yaml", &format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: bgp, namespace: kube-system}}\ndata: {{switch: {SECRET}}}\n"));
    run("render --objects OBJECTS --node worker-1 --out OUT -o json");
    let said = said.take();
    assert!(said.contains("bad password") && said.contains("password (hidden);"), "{said}");
    let lines: Vec<&str> = said.lines().filter(|line| line.contains(SECRET)).collect();
    assert!(lines.is_empty(), "{lines:#?}");
    assert!(!said.contains('\u{1b}'), "no colours in logs where there is no terminal");
}

#[test]
fn a_diff_says_that_a_password_changes_but_not_to_what() {
    let bench = Bench::new();
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(0);
    bench.put("objects/cluster.yaml", &CLUSTER.replace(SECRET, "another-one"));
    let ran = bench
        .run("diff --objects OBJECTS --node worker-1 --out OUT")
        .ends(1)
        .silent()
        .prints("# only passwords differ");
    assert!(!ran.out.contains("another-one") && !ran.out.contains(SECRET), "{}", ran.out);
}

/// An operator who gave the file a mode keeps it.
#[test]
fn the_mode_of_a_file_is_kept() {
    let bench = Bench::new();
    bench.put("out/bird.cfg", "# from before\n");
    fs::set_permissions(bench.out().join("bird.cfg"), fs::Permissions::from_mode(0o640)).unwrap();
    bench.run("render --objects OBJECTS --node worker-1 --out OUT").ends(0);
    let mode = fs::metadata(bench.out().join("bird.cfg")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o640);
}
