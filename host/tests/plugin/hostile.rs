//! Plugins that do harm, or would. Each test looks at what is told, at a sibling, and at the next rendering.

use std::time::{Duration, Instant};

use serde_json::json;
use tailorbird::plugin::{PluginSet, Usage};

use crate::common::*;

/// A well-behaved plugin beside the hostile one; its function has another name.
fn sibling() -> Guest {
    let (data, body) = text("fine");
    Guest::function("sibling", &body).more(&data).more("(data (i32.const 1200) \"g\")")
}

/// Loads a hostile plugin and a sibling.
fn beside(guest: Guest) -> PluginSet {
    Plugins::of(&[guest, sibling()]).load()
}

/// Asserts that a call fails with a cause, that the sibling answers in the same rendering, and both as ever in the next.
fn assert_contained(set: &PluginSet, told: &str) -> Usage {
    let mut used = None;
    for _ in 0..2 {
        let mut session = session(set);
        let error = call(&mut session, 0).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
        assert_eq!(error.call, "functions.call");
        assert_eq!(call(&mut session, 1).unwrap().answer, json!("fine"));
        let usage = session.usage().next().unwrap().clone();
        assert!(usage.memory <= 32 << 20, "{usage:?}");
        used = Some(usage);
    }
    used.unwrap()
}

#[test]
fn an_endless_loop_runs_out_of_fuel() {
    let usage = assert_contained(
        &beside(Guest::function("spins", "(loop $l (br $l)) (unreachable)")),
        "used up its fuel",
    );
    assert!(usage.fuel >= 10_000_000 && usage.fuel < 10_200_000, "{usage:?}");
}

#[test]
fn memory_ends_at_the_limit() {
    let grows = "(loop $l (drop (memory.grow (i32.const 16))) (br $l)) (unreachable)";
    let usage = assert_contained(&beside(Guest::function("grows", grows)), "limits.memory");
    // It grows by a mebibyte at a time.
    assert!(usage.memory > 31 << 20, "{usage:?}");
    let small =
        Plugins::new().with(&Guest::function("grows", grows), |entry| entry.limits.memory = 1 << 20).load();
    assert!(cause(&small, 0).contains("may have 1048576"), "{}", cause(&small, 0));
}

#[test]
fn memory_that_is_too_large_from_the_start_does_not_load() {
    let huge = Guest::function("huge", NOTHING).pages(513);
    assert!(
        Plugins::of(&[huge]).refusal().contains("asked for 33619968 bytes of memory and may have 33554432")
    );
    assert!(Plugins::of(&[Guest::function("large", NOTHING).pages(512)]).try_load().is_ok());
}

#[test]
fn a_table_that_is_too_large_does_not_load() {
    let told = Plugins::of(&[Guest::function("tables", NOTHING).more("(table 30000 funcref)")]).refusal();
    assert!(told.contains("table"), "{told}");
    // Neither what the operator wants, nor what is there for all, is left out.
    let table = |size: u32| {
        let guest = Guest::function("tables", NOTHING).more(&format!("(table {size} funcref)"));
        Plugins::new().with(&guest, |entry| entry.limits.table_elements = 100)
    };
    assert!(table(200).refusal().contains("asked for a table of 200 and may have 100"));
    assert!(table(100).try_load().is_ok());
}

#[test]
fn deep_recursion_is_a_stack_overflow() {
    let deep = "(call $call (local.get $f) (local.get $ptr) (local.get $len))";
    // Locals make each frame large, so that the stack ends before the fuel.
    assert_contained(&beside(Guest::function("deep", deep)), "used up its stack");
}

#[test]
fn a_trap_tells_the_last_error_that_was_logged() {
    let body = "(call $log (i32.const 3) (i32.const 3000) (i32.const 8)) (unreachable)";
    let guest = Guest::function("panics", body).more("(data (i32.const 3000) \"panicked\")");
    assert_contained(
        &beside(guest),
        "plugin panics: functions.call: `f`: panicked (wasm trap: wasm `unreachable`",
    );
}

#[test]
fn a_refusal_is_told_as_it_is_and_is_no_failure_of_the_plugin() {
    let refuses = "(i32.store8 (i32.const 2000) (i32.const 1)) (i32.store (i32.const 2008) (i32.const 3000)) \
                   (i32.store (i32.const 2012) (i32.const 7)) (i32.const 2000)";
    let set = beside(Guest::function("refuses", refuses).more("(data (i32.const 3000) \"no\\1b[0m;\")"));
    for _ in 0..10 {
        assert_contained(&set, "plugin refuses: functions.call: `f`: no\\u{1b}[0m;");
    }
}

#[test]
fn configure_that_traps_or_loops_is_told_when_loading() {
    for (body, told) in [
        ("(unreachable)", "lifecycle.configure: wasm trap"),
        ("(loop $l (br $l)) (unreachable)", "lifecycle.configure: used up its fuel"),
        (
            "(call $log (i32.const 3) (i32.const 1200) (i32.const 1)) (unreachable)",
            "lifecycle.configure: f (wasm trap",
        ),
    ] {
        let told_ = Plugins::of(&[Guest::function("bad", NOTHING).configure(body)]).refusal();
        assert!(told_.starts_with("plugin bad: ") && told_.contains(told), "{told_}");
    }
    let start = Guest::function("bad", NOTHING).more("(func $start (unreachable)) (start $start)");
    assert!(Plugins::of(&[start]).refusal().contains("wasm trap"));
}

#[test]
fn a_million_log_lines_are_cut_short() {
    let body = r#"(local $n i32)
      (loop $l
        (call $log (i32.const 1) (i32.const 1200) (i32.const 1))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br_if $l (i32.lt_u (local.get $n) (i32.const 1000000))))
      (i32.const 1024)"#;
    let usage = assert_contained(
        &beside(Guest::function("chatty", body)),
        "asked the host for more than its fuel allows",
    );
    assert!(
        usage.logs.len() <= 100 && usage.dropped_lines > 1000,
        "{} {}",
        usage.logs.len(),
        usage.dropped_lines
    );

    // With fuel for all of them there are still no more than the limit, and the call succeeds.
    let few = body.replace("1000000", "5000");
    let set = Plugins::of(&[Guest::function("chatty", &few)]).load();
    let mut session = session(&set);
    call(&mut session, 0).unwrap();
    let usage = session.usage().next().unwrap();
    assert_eq!((usage.logs.len() as u64 + usage.dropped_lines, usage.logs.len() <= 100), (5000, true));
}

#[test]
fn a_million_listings_are_cut_short() {
    let body = r#"(local $n i32)
      (loop $l
        (call $list (i32.const 1200) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 1000) (i32.const 2100))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br_if $l (i32.lt_u (local.get $n) (i32.const 1000000))))
      (i32.const 1024)"#;
    let guest = Guest::function("lists", body).wants(&["/"]);
    assert_contained(&beside(guest), "asked the host for more than its fuel allows");
}

#[test]
fn what_is_handed_to_the_host_is_bounded() {
    // A line of 2 MiB: more than a call may hand over.
    let body = "(drop (memory.grow (i32.const 64))) (call $log (i32.const 1) (i32.const 8192) (i32.const 2097152)) (i32.const 1024)";
    assert_contained(&beside(Guest::function("wide", body)), "fuel");
    // A text of 2 MiB as an answer.
    let body = returns_text("(drop (memory.grow (i32.const 64)))", "(i32.const 8192)", "(i32.const 2097152)");
    assert_contained(&beside(Guest::function("wide", &body)), "fuel");
    // One that points outside of the memory.
    let body = returns_text("", "(i32.const 2147483647)", "(i32.const 100)");
    assert_contained(&beside(Guest::function("outside", &body)), "out of bounds");
    // A long line is cut.
    let body = "(drop (memory.grow (i32.const 1))) (call $log (i32.const 1) (i32.const 8192) (i32.const 10000)) (i32.const 1024)";
    let set = Plugins::of(&[Guest::function("wide", body)]).load();
    let mut session = session(&set);
    call(&mut session, 0).unwrap();
    let line = &session.usage().next().unwrap().logs[0].text;
    assert!(line.ends_with('…') && line.len() < 5000 * 8, "{}", line.len());
}

#[test]
fn answers_that_are_no_values_are_refused() {
    let json = |text_: &str| {
        let (data, body) = text(text_);
        Guest::function(
            "bad",
            &body.replace("(i32.const 2008) (i32.const 3)", "(i32.const 2008) (i32.const 4)"),
        )
        .more(&data)
    };
    let plain = |text_: &str| {
        let (data, body) = text(text_);
        Guest::function("bad", &body).more(&data)
    };
    let invalid = Guest::function(
        "bad",
        &returns_text("(i32.store8 (i32.const 3000) (i32.const 255))", "(i32.const 3000)", "(i32.const 1)"),
    );
    let no_such_case = Guest::function("bad", "(i32.store8 (i32.const 2008) (i32.const 9)) (i32.const 2000)");
    let deep = "[".repeat(100_000);
    for (guest, told) in [
        // The mark of a typed value: with it, text would pass as BIRD's own.
        (plain("\u{1}reject; }"), "control characters"),
        (json("[\"\\u0001reject; }\"]"), "control characters"),
        (json("{\"\\u0001x\": 1}"), "control characters"),
        (json("{"), "no JSON"),
        (json("5"), "neither a list nor a map"),
        (json(&deep[..4000]), "no JSON"),
        (invalid, "utf-8"),
        (no_such_case, "discriminant"),
    ] {
        assert_contained(&beside(guest), told);
    }
}

#[test]
fn all_calls_of_a_rendering_share_a_budget() {
    let body = r#"(local $n i32)
      (loop $l (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if $l (i32.lt_u (local.get $n) (i32.const 100000))))
      (i32.const 1024)"#;
    let plugins = Plugins::new()
        .with(&Guest::function("works", body), |entry| entry.limits.fuel_per_rendering = 2_000_000);
    let set = plugins.load();
    let calls =
        |session: &mut tailorbird::plugin::Session| (0..100).take_while(|_| call(session, 0).is_ok()).count();
    let first = calls(&mut session(&set));
    assert!((2..10).contains(&first), "{first}");
    assert_eq!(calls(&mut session(&set)), first, "each rendering has its own");
}

#[test]
fn a_trap_poisons_nothing_but_its_own_store() {
    // Traps when it is called with an argument; a global tells whether the instance is a new one.
    let body = r#"
      (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
      (if (local.get $len) (then (unreachable)))
      (i32.store8 (i32.const 2008) (i32.const 2))
      (i64.store (i32.const 2016) (i64.extend_i32_u (global.get $calls)))
      (i32.const 2000)"#;
    let set = beside(Guest::function("moody", body).more("(global $calls (mut i32) (i32.const 0))"));
    let mut session = session(&set);
    let count = |session: &mut tailorbird::plugin::Session| session.call_function(0, 0, &[]).unwrap().answer;
    assert_eq!([count(&mut session), count(&mut session)], [json!(1), json!(2)]);
    assert!(call(&mut session, 0).is_err());
    assert_eq!(count(&mut session), json!(1));
}

#[test]
fn repeated_traps_bring_quarantine_and_time_ends_it() {
    let set = beside(Guest::function("traps", "(unreachable)"));
    let start = Instant::now();
    let at = |seconds: u64| {
        let mut session = set.begin(&snapshot(1, &[]), start + Duration::from_secs(seconds));
        let error = call(&mut session, 0).unwrap_err().to_string();
        assert_eq!(call(&mut session, 1).unwrap().answer, json!("fine"));
        (error.contains("is in quarantine"), session.usage().next().unwrap().calls)
    };
    for _ in 0..3 {
        assert_eq!(at(0), (false, 2));
    }
    assert_eq!(at(0), (true, 0));
    assert_eq!(at(1), (false, 2));
    assert_eq!(at(2), (true, 0));
}

#[test]
fn bytes_that_nobody_wrote_never_panic() {
    let component = Guest::new("x", "plugin").component();
    for seed in 0..300_usize {
        let mut bytes = component.clone();
        for step in 0..(1 + seed % 3) {
            let at = (seed * 7919 + step * 104_729) % bytes.len();
            bytes[at] ^= 1 << (seed % 8);
        }
        // Most of them are refused, and none stops the process.
        let _: Result<_, _> = tailorbird::plugin::PluginFile::parse("x", bytes);
    }
    for (index, length) in (0..component.len()).step_by(997).enumerate() {
        let plugins = Plugins::new().with_bytes(&index.to_string(), &component[..length], |_| ());
        assert!(plugins.try_load().is_err());
    }
}
