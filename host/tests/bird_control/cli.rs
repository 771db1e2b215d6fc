//! `tailorbird bird`, as people and programs use it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::answers::{BIRD1, BIRD3};
use crate::daemon;
use crate::fake::{ENDING, Fake, Step, UP, answer, greet, status};

fn bird(arguments: &[&str], sockets: &[PathBuf]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailorbird"));
    command.env_clear().arg("bird").args(arguments);
    for socket in sockets {
        command.arg("--socket").arg(socket);
    }
    command.output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn restricted(command: &'static str, text: &str) -> Vec<Step> {
    let steps = [answer("restrict", "0016 Access restricted\n"), answer(command, text)];
    [greet()].into_iter().chain(steps.into_iter().flatten()).collect()
}

fn answering(command: &'static str, text: &str) -> Vec<Step> {
    [greet()].into_iter().chain(answer(command, text)).collect()
}

#[test]
fn status_of_one_that_lives_and_one_that_does_not() {
    let fake = Fake::new([restricted("show status", &status(UP, 12))]);
    let gone = fake.folder().join("bird6.ctl");
    let output = bird(&["status"], &[fake.socket(), gone.clone()]);
    assert_eq!(output.status.code(), Some(1));
    let text = out(&output);
    assert!(
        text.starts_with(&format!("{}: BIRD 2.19.2, up, its configuration", fake.socket().display())),
        "{text}"
    );
    assert!(text.contains("configuration read  2026-11-29 12:00:47.500 (12 s ago)"), "{text}");
    let words = err(&output);
    assert!(words.contains(&format!("error: {}: there is no such socket", gone.display())), "{words}");
    fake.finish();
}

#[test]
fn status_as_json() {
    let fake = Fake::new([restricted("show status", &status(ENDING, 12))]);
    let gone = fake.folder().join("bird6.ctl");
    let output = bird(&["status", "-o", "json"], &[fake.socket(), gone.clone()]);
    assert_eq!(output.status.code(), Some(1));
    let list = json(&output);
    assert_eq!(list[0]["state"], "shutting_down");
    assert_eq!(list[0]["configuration_age_seconds"], 12.0);
    assert_eq!(list[0]["router_id"], "10.0.0.1");
    assert_eq!(list[1]["socket"], gone.to_str().unwrap());
    assert!(list[1]["error"].as_str().unwrap().starts_with("there is no such socket"));
    fake.finish();
}

#[test]
fn sessions_in_columns() {
    let fake = Fake::new([restricted("show protocols all", BIRD1), restricted("show protocols all", BIRD3)]);
    let output = bird(&["sessions"], &[fake.socket(), fake.socket()]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let text = out(&output);
    let rows: Vec<Vec<_>> =
        text.lines().map(|line| line.split("  ").filter(|cell| !cell.is_empty()).collect()).collect();
    let trimmed = |row: &[&str]| row.iter().map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    assert_eq!(
        trimmed(&rows[1]),
        ["name", "neighbor", "AS", "state", "since", "routes in/out", "last error"]
    );
    assert_eq!(
        trimmed(&rows[2]),
        ["Mesh_10_0_0_2", "10.0.0.2", "4200000000", "Established", "2026-11-29 22:47:09", "2/5"]
    );
    assert_eq!(
        trimmed(&rows[3]),
        ["lost", "fe80::1%eth0", "64513", "Active", "22:47:05", "-", "Socket: Connection refused"]
    );
    assert_eq!(trimmed(&rows[6]), ["Mesh", "10.5.0.0/24", "-", "Passive", "22:47:52.119", "ipv4 7/8"]);
    assert!(text.contains("1 of 2 sessions established") && text.contains("0 of 1 sessions"), "{text}");
    fake.finish();
}

#[test]
fn sessions_as_json() {
    let fake = Fake::new([restricted("show protocols all", BIRD3)]);
    let list = json(&bird(&["sessions", "-o", "json"], &[fake.socket()]));
    let session = &list[0]["sessions"][0];
    assert_eq!((&session["name"], &session["bgp"]["state"]), (&"Mesh".into(), &"Passive".into()));
    assert_eq!(session["bgp"]["neighbor"]["range"], "10.5.0.0/24");
    assert_eq!(session["channels"][0]["routes"]["imported"], 7);
    assert_eq!(list[0]["sessions"].as_array().unwrap().len(), 1);
    fake.finish();
}

#[test]
fn check_says_where_it_is_wrong() {
    let bad = "0002-Reading\n8002 /etc/bird.cfg:4:2 syntax error\n";
    let command = "configure check \"/etc/bird.cfg\"";
    let fake = Fake::new([
        answering(command, "0020 Configuration OK\n"),
        answering(command, bad),
        answering(command, bad),
    ]);
    let output = bird(&["check", "/etc/bird.cfg"], &[fake.socket()]);
    assert_eq!((output.status.code(), err(&output).as_str()), (Some(0), ""));
    assert!(out(&output).ends_with(": accepts /etc/bird.cfg\n"));
    let output = bird(&["check", "/etc/bird.cfg"], &[fake.socket()]);
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(1), ""));
    assert!(err(&output).ends_with("BIRD refuses /etc/bird.cfg: /etc/bird.cfg, line 4: syntax error\n"));
    let list = json(&bird(&["check", "-o", "json", "/etc/bird.cfg"], &[fake.socket()]));
    assert_eq!((&list[0]["verdict"], &list[0]["line"]), (&"refused".into(), &4.into()));
    fake.finish();
}

#[test]
fn check_takes_no_path_that_could_be_a_command() {
    let output = bird(&["check", "/etc/\" down \""], &["/nowhere".into()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("rename the file"), "{}", err(&output));
}

#[test]
fn reload_succeeds_only_when_it_is_in_force() {
    let done = "0002-Reading\n0003 Reconfigured\n";
    let reload =
        |age| [answering("configure", done), answer("show status", status(UP, age)).to_vec()].concat();
    let undo_after = [
        answering("configure soft timeout 60", done),
        answer("show status", status(UP, 0)).to_vec(),
        answer("configure confirm", "0018 Reconfiguration confirmed\n").to_vec(),
    ]
    .concat();
    let fake = Fake::new([reload(0), undo_after, reload(59), reload(59)]);
    let output = bird(&["reload"], &[fake.socket()]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains(": the new configuration is in force, after "), "{}", out(&output));
    let list = json(&bird(&["reload", "--soft", "--undo-after", "60", "-o", "json"], &[fake.socket()]));
    assert_eq!(list[0]["result"], "in_force");
    let output = bird(&["reload"], &[fake.socket()]);
    assert_eq!((output.status.code(), out(&output).as_str()), (Some(1), ""));
    assert!(
        err(&output).contains("BIRD accepted the configuration, but it runs one that it read on"),
        "{}",
        err(&output)
    );
    let list = json(&bird(&["reload", "-o", "json"], &[fake.socket()]));
    assert_eq!(list[0]["result"], "accepted_not_in_force");
    fake.finish();
}

#[test]
fn without_a_socket_those_of_the_folder_are_asked() {
    let run = |arguments: &[&str], folder: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tailorbird"));
        command
            .env_clear()
            .env("TAILORBIRD_BIRD_SOCKETS", folder)
            .arg("bird")
            .args(arguments)
            .output()
            .unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let words = err(&run(&["status"], folder.path()));
    assert!(words.contains("/bird.ctl: there is no") && words.contains("/bird6.ctl: there is no"), "{words}");
    // A file goes to the daemon that it is for.
    let words = err(&run(&["check", "/etc/bird6.cfg"], folder.path()));
    assert!(!words.contains("/bird.ctl") && words.contains("/bird6.ctl: there is no"), "{words}");
    let words = err(&run(&["check", "/etc/bird.cfg"], folder.path()));
    assert!(words.contains("/bird.ctl: there is no") && !words.contains("/bird6.ctl"), "{words}");
}

#[test]
fn all_of_it_with_real_daemons() {
    daemon::each(|version| {
        let daemon = version.start(&version.config(1, &["10.1.0.0/24"], ""));
        let sockets = [daemon.socket()];
        let config = daemon.path("bird.cfg");
        for arguments in [
            &["status"][..],
            &["sessions"],
            &["check", config.to_str().unwrap()],
            &["reload", "--undo-after", "60"],
        ] {
            let output = bird(arguments, &sockets);
            assert_eq!(
                output.status.code(),
                Some(0),
                "BIRD {} {arguments:?}: {}",
                version.number,
                err(&output)
            );
            assert!(out(&output).starts_with(sockets[0].to_str().unwrap()));
        }
        fs::write(&config, "nonsense\n").unwrap();
        let output = bird(&["reload"], &sockets);
        assert_eq!(output.status.code(), Some(1));
        assert!(
            err(&output).contains("BIRD refused the configuration and runs the old one"),
            "{}",
            err(&output)
        );
    });
}
