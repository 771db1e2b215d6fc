//! The page for authors of plugins: its commands do what it says, and its code is that of new crates.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tailorbird::plugin::build::{Machine, Toolchain};
use tailorbird::plugin::scaffold::{self, Kind};

/// Another variable than these would let the tests depend on where they run.
const VARIABLES: [&str; 7] =
    ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "TMPDIR", "LANG", "TAILORBIRD_BIRD1"];

/// The blocks of a language in a page.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<Vec<&'a str>> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(opened) = line.strip_prefix("```").filter(|opened| !opened.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if opened == language {
            found.push(block);
        }
    }
    found
}

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/plugin-authors.md")).unwrap()
}

/// A command with what the page says of it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Step {
    /// The command, with the lines that belong to it.
    command: String,
    /// Lines that it prints.
    shown: Vec<String>,
    /// How it ends.
    code: i32,
}

/// The commands of a page: lines behind `$ `, with further ones behind `> `. Lines below are printed by it, and a last one
/// can say how it ends.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in blocks(page, "console").into_iter().flatten() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command: command.to_owned(), ..Step::default() });
            continue;
        }
        let step = steps.last_mut().expect("a block begins with a command");
        let code = line.strip_prefix("(exit code ").and_then(|rest| rest.strip_suffix(')'));
        match (line.strip_prefix('>'), code) {
            (Some(more), _) if step.shown.is_empty() => {
                step.command.push('\n');
                step.command += more.strip_prefix(' ').unwrap_or(more);
            }
            (_, Some(code)) => step.code = code.parse().unwrap(),
            _ => step.shown.push(line.to_owned()),
        }
    }
    steps
}

/// Whether a line is one that the page shows; `…` stands for any words.
fn is_shown(shown: &str, line: &str) -> bool {
    let mut parts = shown.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The first line that the page shows and that was not printed in this order.
fn missing<'a>(step: &'a Step, printed: &str) -> Option<&'a str> {
    let mut lines = printed.lines();
    step.shown.iter().find(|shown| !lines.any(|line| is_shown(shown, line))).map(String::as_str)
}

/// A script that runs the commands as somebody does who types them, each with its words in a file, up to one that ends in
/// another way than it should.
fn script(steps: &[Step], words: &Path) -> String {
    let mut script = String::new();
    for (index, Step { command, code, .. }) in steps.iter().enumerate() {
        let file = words.join(index.to_string());
        let file = file.display();
        writeln!(script, "{{\n{command}\n}} > {file} 2>&1\nended=$?; echo $ended > {file}.code").unwrap();
        writeln!(script, "[ $ended = {code} ] || exit 1").unwrap();
    }
    script
}

#[test]
fn every_command_of_the_page_does_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    if let Err(reason) = Toolchain::find(&Machine::here(folder.path())) {
        // Not by a macro of the standard library: those are shown of tests that fail, and this is to be seen.
        writeln!(std::io::stderr(), "skipped: docs/plugin-authors.md was not tried, for {reason}").unwrap();
        return;
    }
    let steps = steps(&page());
    let count = |word: &str| steps.iter().filter(|step| step.command.contains(word)).count();
    for word in ["new", "test", "build", "inspect", "run", "bench"] {
        assert!(count(&format!("tailorbird plugin {word}")) > 0, "the page does not show `plugin {word}`");
    }
    let (here, words) = (folder.path().join("here"), folder.path().join("words"));
    for folder in [&here, &words] {
        fs::create_dir(folder).unwrap();
    }
    let program = PathBuf::from(env!("CARGO_BIN_EXE_tailorbird"));
    let own = std::env::var_os("PATH").unwrap();
    let path = std::iter::once(program.parent().unwrap().to_owned()).chain(std::env::split_paths(&own));
    let mut shell = Command::new("bash");
    shell.env_clear().env("PATH", std::env::join_paths(path).unwrap());
    shell.envs(VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    shell
        // What is compiled is kept from one run of the tests to the next.
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugins"))
        .env("CARGO_NET_OFFLINE", "true")
        // A test changes no toolchain.
        .env("RUSTUP_AUTO_INSTALL", "0")
        .current_dir(&here)
        .args(["-c", &script(&steps, &words)])
        .stdin(Stdio::null());
    let done = shell.status().unwrap();
    for (index, step) in steps.iter().enumerate() {
        let file = words.join(index.to_string());
        let printed = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        let code = fs::read_to_string(file.with_extension("code")).unwrap_or_default();
        assert_eq!(code.trim(), step.code.to_string(), "$ {}\n{printed}", step.command);
        let missing = missing(step, &printed);
        assert_eq!(missing, None, "is not printed by\n$ {}\n{printed}", step.command);
    }
    assert!(done.success());
}

#[test]
fn the_code_of_the_page_is_that_of_new_crates() {
    let name = "a".parse().unwrap();
    let kinds = [Kind::Peers, Kind::Filter, Kind::Functions];
    let sources: Vec<String> = kinds
        .into_iter()
        .flat_map(|kind| scaffold::files(&name, kind, None))
        .filter(|file| file.path == Path::new("src/lib.rs"))
        .map(|file| file.text)
        .collect();
    let page = page();
    let blocks = blocks(&page, "rust");
    let of_kind = |source: &String| {
        blocks.iter().filter(|block| source.contains(&format!("{}\n", block.join("\n")))).count()
    };
    let found: Vec<usize> = sources.iter().map(of_kind).collect();
    assert!(found.iter().all(|blocks| *blocks > 0), "each kind has its code on the page: {found:?}");
    for block in blocks {
        let text = format!("{}\n", block.join("\n"));
        assert!(sources.iter().any(|source| source.contains(&text)), "is in no new crate:\n{text}");
    }
}

#[test]
fn commands_are_read_with_what_they_print() {
    let page = "text\n```console\n$ a 'b\n> c'\nout …\n(exit code 3)\n$ d\n```\n```text\n$ no\n```\n";
    let step = |command: &str, shown: &[&str], code| Step {
        command: command.to_owned(),
        shown: shown.iter().map(|line| (*line).to_owned()).collect(),
        code,
    };
    assert_eq!(steps(page), [step("a 'b\nc'", &["out …"], 3), step("d", &[], 0)]);
    let shown = step("a", &["x", "out … end", "y…"], 0);
    assert_eq!(missing(&shown, "x\nz\nout of it end\ny\n"), None);
    assert_eq!(missing(&shown, "out of it end\nx\ny\n"), Some("out … end"));
    assert_eq!(missing(&shown, "x\nout of it ended\ny\n"), Some("out … end"));
    assert_eq!(missing(&shown, "x y\nout of it end\ny\n"), Some("x"));
}
