//! The selector language, through its public API.

use proptest::prelude::*;
use tailorbird::engine::selector::{MAX_TEXT, Selector};
use tailorbird::resources::Labels;

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect()
}

fn parse(text: &str) -> Selector {
    Selector::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[test]
fn selects_by_labels() {
    let here = labels(&[
        ("role", "spine"),
        ("rack", "r-17"),
        ("empty", ""),
        ("topology.example.com/zone", "z1"),
        ("has", "x"),
        ("in", "y"),
        ("9", "nine"),
        ("quote", "say \"hi\""),
    ]);
    #[rustfmt::skip]
    let cases = [
        ("", true), (" \t\n ", true), ("all()", true), ("global()", true), ("all( )", true), ("!all()", false),
        ("has(role)", true), ("has( role )", true), ("has(rol)", false), ("!has(rol)", true), ("! !has(role)", true),
        ("!!!has(role)", false), ("has(empty)", true), ("has(topology.example.com/zone)", true),
        ("role == 'spine'", true), ("role==\"spine\"", true), ("role == 'spin'", false), ("rol == 'spine'", false),
        ("empty == ''", true), ("rol == ''", false), ("role != 'spine'", false), ("role != 'leaf'", true),
        ("rol != 'spine'", true), ("!role == 'spine'", false), ("!rol == 'spine'", true),
        ("role in {'leaf', \"spine\"}", true), ("role in{'leaf'}", false), ("rol in {'leaf'}", false),
        ("role in {}", false), ("role in {'spine',}", true), ("empty in {''}", true),
        ("role not in {'leaf'}", true), ("role not in {'spine'}", false), ("role notin {'spine'}", false),
        ("rol not in {'spine'}", true), ("role not  in {}", true), ("rol notin {}", true),
        ("rack contains '-1'", true), ("rack contains ''", true), ("rac contains ''", false),
        ("rack starts with 'r-'", true), ("rack startswith 'r-'", true), ("rack starts with '17'", false),
        ("rac starts with ''", false), ("rack ends with '17'", true), ("rack endswith'17'", true),
        ("rack ends with 'r-'", false), ("rac ends with ''", false), ("quote contains '\"hi\"'", true),
        // `&&` binds tighter than `||`, `!` tighter than both.
        ("all() || all() && !all()", true), ("(all() || all()) && !all()", false), ("!all() && all() || all()", true),
        ("!(all() && !all())", true), ("!all() || all()", true), ("has(role)&&has(rack)||has(nothing)", true),
        ("((((has(role)))))", true), ("!(!(has(role)))", true), ("!(has(role) || has(x)) || !has(y)", true),
        // Words of the language are labels where a label stands.
        ("has == 'x'", true), ("has(has)", true), ("in == 'y'", true), ("in in {'y'}", true), ("has(in)", true),
        ("not not in {'x'}", true), ("all != 'x'", true), ("contains contains 'x'", false),
        ("global notin {'a'}", true), ("has != 'x' && has(has)", false), ("9 == 'nine'", true),
        ("starts starts with 'x' || ends ends with 'x'", false), ("not == 'x'", false), ("has-x != 'a'", true),
    ];
    for (text, expected) in cases {
        let selector = parse(text);
        assert_eq!(selector.matches(&here), expected, "{text}");
        assert_eq!(selector.matches_empty(), selector.matches(&Labels::new()), "{text}");
        assert_eq!(selector.text(), text);
        let canonical = parse(&selector.to_string());
        assert_eq!(canonical.to_string(), selector.to_string(), "{text}");
        assert_eq!(canonical.matches(&here), expected, "{text} as {canonical}");
    }
}

#[test]
fn has_a_canonical_form() {
    #[rustfmt::skip]
    let cases = [
        ("", "all()"),
        ("a=='x'&&b!=\"y\"", "a == \"x\" && b != \"y\""),
        ("a in {'z',\"x\",'z'} || a notin { }", "a in {\"x\", \"z\"} || a not in {}"),
        ("((a startswith 'x')) && (b endswith '\"')", "a starts with \"x\" && b ends with '\"'"),
        ("!(a contains 'x') || !has( b )", "!(a contains \"x\") || !has(b)"),
        ("(has(a) || has(b)) && has(c)", "(has(a) || has(b)) && has(c)"),
        ("(has(a) && has(b)) || has(c)", "has(a) && has(b) || has(c)"),
        ("has(a) || (has(b) || has(c))", "has(a) || (has(b) || has(c))"),
        ("has(a) && (has(b) && has(c))", "has(a) && (has(b) && has(c))"),
        ("!!!global()", "!global()"),
        ("!(!(all()))", "!(!all())"),
    ];
    for (text, canonical) in cases {
        assert_eq!(parse(text).to_string(), canonical, "{text}");
    }
}

#[test]
fn mentions_labels_once_and_sorted() {
    let mentions = |text: &str| parse(text).mentions().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(mentions("zone == 'a' || has(b/c) && !has(zone) && a in {'q'}"), ["a", "b/c", "zone"]);
    assert!(mentions("all() && global()").is_empty());
}

#[test]
fn errors_have_a_column() {
    #[rustfmt::skip]
    let cases = [
        ("a", 1, "operator"), ("  a", 3, "operator"), ("a b", 3, "operator"), ("a = 'x'", 3, "`==`"),
        ("a == x", 6, "quotes"), ("a ==", 5, "quotes"), ("a == 'x", 6, "end"), ("a == \"x'", 6, "end"),
        ("a == 'é' b", 10, "`&&`"), ("é == 'x'", 1, "label"), ("has()", 5, "label"), ("has(a", 6, "`)`"),
        ("has(a b)", 7, "`)`"), ("has (a)", 5, "operator"), ("all(a)", 5, "`)`"), ("all", 1, "operator"),
        ("a in 'x'", 6, "`{`"), ("a in {'x'", 10, "`}`"), ("a in {'x' 'y'}", 11, "`,`"), ("a in {,}", 7, "quotes"),
        ("a in {x}", 7, "quotes"), ("a inside {'x'}", 3, "operator"), ("a not {'x'}", 3, "operator"),
        ("(has(a)", 8, "column 1"), ("has(b) && (has(a)", 18, "column 11"), ("has(a))", 7, "without its `(`"),
        ("()", 2, "label"), ("!", 2, "label"), ("has(a) &&", 10, "label"), ("has(a) || || has(b)", 11, "label"),
        ("has(a) & has(b)", 8, "`&&`"), ("&& has(a)", 1, "label"), ("!= 'a'", 2, "label"), ("'a' == a", 1, "label"),
        ("has(a) has(b)", 8, "`&&`"), ("a == 'x' == 'x'", 10, "`&&`"), ("a starts 'x'", 3, "operator"),
    ];
    for (text, column, message) in cases {
        let error = Selector::parse(text).expect_err(text);
        assert_eq!(error.column, column, "{text}: {error}");
        assert!(error.message.contains(message), "{text}: {error}");
    }
}

#[test]
fn size_and_depth_are_bounded() {
    let long = "é".repeat(5_000_000);
    assert_eq!(Selector::parse(&long).expect_err("too long").column, MAX_TEXT / 2 + 1);
    let deep = (MAX_TEXT - 6) / 2;
    for text in [
        format!("{}has(a){}", "(".repeat(deep), ")".repeat(deep)),
        format!("{}has(a)", "!".repeat(2 * deep)),
        format!("{}has(a){}", "!(".repeat(20_000), ")".repeat(20_000)),
        format!("{}has(a){}", "has(b)||(".repeat(4_000), ")".repeat(4_000)),
        format!("{}has(a)", "has(a)&&".repeat(5_000)),
    ] {
        let selector = parse(&text);
        assert!(selector.matches(&labels(&[("a", "")])));
        assert!(!selector.matches_empty());
        assert_eq!(parse(&selector.to_string()).to_string(), selector.to_string());
    }
    assert!(Selector::parse(&"(".repeat(MAX_TEXT)).is_err());
    assert!(Selector::parse(&"!".repeat(MAX_TEXT)).is_err());
}

/// A selector as a tree, with an evaluation and a printing that follow the definition word by word.
#[derive(Debug, Clone)]
enum Tree {
    All,
    Has(String),
    Compare(String, &'static str, String),
    Set(String, bool, Vec<String>),
    Not(Box<Tree>),
    And(Box<Tree>, Box<Tree>),
    Or(Box<Tree>, Box<Tree>),
}

impl Tree {
    fn eval(&self, on: &Labels) -> bool {
        let get = |k: &String| on.get(k.as_str()).map(|v| v.to_string());
        match self {
            Tree::All => true,
            Tree::Has(k) => get(k).is_some(),
            Tree::Compare(k, "!=", v) => get(k).as_ref() != Some(v),
            Tree::Compare(k, op, v) => get(k).is_some_and(|x| match *op {
                "==" => x == *v,
                "contains" => x.contains(v.as_str()),
                "starts with" => x.starts_with(v.as_str()),
                _ => x.ends_with(v.as_str()),
            }),
            Tree::Set(k, inside, set) => get(k).is_some_and(|x| set.contains(&x)) == *inside,
            Tree::Not(a) => !a.eval(on),
            Tree::And(a, b) => a.eval(on) && b.eval(on),
            Tree::Or(a, b) => a.eval(on) || b.eval(on),
        }
    }

    fn level(&self) -> u8 {
        match self {
            Tree::Or(..) => 0,
            Tree::And(..) => 1,
            _ => 2,
        }
    }

    /// With the fewest parentheses that precedence allows.
    fn print(&self, level: u8) -> String {
        let text = match self {
            Tree::All => "all()".to_owned(),
            Tree::Has(k) => format!("has({k})"),
            Tree::Compare(k, op, v) => format!("{k} {op} '{v}'"),
            Tree::Set(k, inside, set) => {
                let set: Vec<_> = set.iter().map(|v| format!("\"{v}\"")).collect();
                format!("{k} {} {{{}}}", if *inside { "in" } else { "notin" }, set.join(","))
            }
            Tree::Not(a) => format!("!{}", a.print(2)),
            Tree::And(a, b) => format!("{}&&{}", a.print(1), b.print(1)),
            Tree::Or(a, b) => format!("{} || {}", a.print(0), b.print(0)),
        };
        if self.level() < level { format!("({text})") } else { text }
    }
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof!["[a-d]", Just("has".to_owned()), Just("in".to_owned()), Just("not".to_owned())]
}

fn tree() -> impl Strategy<Value = Tree> {
    let op = prop::sample::select(vec!["==", "!=", "contains", "starts with", "ends with"]);
    let leaf = prop_oneof![
        Just(Tree::All),
        key().prop_map(Tree::Has),
        (key(), op, "[xy]{0,2}").prop_map(|(k, o, v)| Tree::Compare(k, o, v)),
        (key(), any::<bool>(), prop::collection::vec("[xy]{0,2}", 0..4))
            .prop_map(|(k, i, s)| Tree::Set(k, i, s)),
    ];
    leaf.prop_recursive(6, 48, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|a| Tree::Not(a.into())),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Tree::And(a.into(), b.into())),
            (inner.clone(), inner).prop_map(|(a, b)| Tree::Or(a.into(), b.into())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn agrees_with_the_definition(
        tree in tree(),
        on in prop::collection::vec(prop::collection::btree_map(key(), "[xy]{0,2}", 0..5), 1..6),
    ) {
        let text = tree.print(0);
        let selector = parse(&text);
        let canonical = parse(&selector.to_string());
        for on in on {
            let on: Labels = on.iter().map(|(k, v)| (k.as_str().into(), v.as_str().into())).collect();
            prop_assert_eq!(selector.matches(&on), tree.eval(&on), "{}", text);
            prop_assert_eq!(canonical.matches(&on), tree.eval(&on), "{}", canonical);
        }
        prop_assert_eq!(selector.matches_empty(), tree.eval(&Labels::new()));
        prop_assert_eq!(canonical.to_string(), selector.to_string());
    }

    #[test]
    fn never_panics(text in any::<String>(), words in prop::collection::vec(
        prop::sample::select(vec![
            "has(", "all()", "(", ")", "!", "&&", "||", "==", "!=", "in", "not", "{", "}", ",", "'a'", "\"é\"", "k", " ", "'", "é",
        ]), 0..30))
    {
        for text in [text, words.concat(), words.join(" ")] {
            match Selector::parse(&text) {
                Ok(selector) => prop_assert!(Selector::parse(&selector.to_string()).is_ok()),
                Err(error) => prop_assert!((1..=text.chars().count() + 1).contains(&error.column)),
            }
        }
    }
}
