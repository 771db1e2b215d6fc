//! Template resources, the guard, kept fragments and the built-in set, on snapshots made by hand.

mod render_fixture;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use render_fixture::*;
use tailorbird::engine::model::{Block, Item, Route};
use tailorbird::engine::{CollectionId, Snapshot, View};
use tailorbird::render::{self, RenderedFile, Renderer, Rendering, Stats};
use tailorbird::types::{Family, Priority};

/// Writes a configuration folder with one resource.
fn folder(resource: &str, template: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    put(
        dir.path(),
        "conf.d/x.toml",
        &format!("[template]\nsrc = \"x.hbs\"\ndest = \"/tmp/x.cfg\"\n{resource}\n"),
    );
    put(dir.path(), "templates/x.hbs", template);
    dir
}

fn put(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    fs::write(path, text).expect("a file");
}

/// The error of loading, or the result of rendering.
fn outcome(resource: &str, template: &str, view: &[(&str, &str)]) -> Result<String, String> {
    let dir = folder(resource, template);
    let mut loaded = render::load(dir.path(), &name("node-1"));
    assert_eq!(loaded.len(), 1);
    let resource = loaded.remove(0).map_err(|error| error.to_string())?;
    let mut snapshot = snapshot(1, 2);
    snapshot.view = View::from_entries(1, view.iter().map(|(k, v)| (*k, *v)));
    let mut rendering = Renderer::new(vec![resource]).render(&snapshot);
    rendering.files.remove(0).map(|file| file.text.to_string()).map_err(|error| error.to_string())
}

#[track_caller]
fn check(resource: &str, template: &str, view: &[(&str, &str)], expect: &str) {
    assert_eq!(outcome(resource, template, view).as_deref(), Ok(expect), "{template}");
}

#[track_caller]
fn check_error(resource: &str, template: &str, view: &[(&str, &str)], parts: &[&str]) {
    let error = outcome(resource, template, view).expect_err(template);
    for part in parts {
        assert!(error.contains(part), "{template}: `{part}` is not in: {error}");
    }
}

fn file<'a>(rendering: &'a Rendering, name: &str) -> &'a RenderedFile {
    let mut files = rendering.files.iter().map(|file| file.as_ref().expect("rendered"));
    files.find(|file| file.dest.ends_with(name)).expect("the file")
}

fn built_in() -> Renderer {
    Renderer::new(render::built_in(&name("node-1")).into_iter().map(|r| r.expect("built in")).collect())
}

#[test]
fn the_built_in_set_writes_the_six_files() {
    let rendering = built_in().render(&full_snapshot());
    let names: Vec<_> =
        rendering.files.iter().map(|f| f.as_ref().expect("rendered").dest.display().to_string()).collect();
    assert_eq!(names.len(), 6);
    for name in ["bird.cfg", "bird_aggr.cfg", "bird_ipam.cfg"] {
        insta::assert_snapshot!(name, file(&rendering, name).text.to_string());
        assert_eq!(file(&rendering, name).group.as_deref(), Some("bird"));
    }
    for name in ["bird6.cfg", "bird6_aggr.cfg", "bird6_ipam.cfg"] {
        insta::assert_snapshot!(name, file(&rendering, name).text.to_string());
        assert_eq!(file(&rendering, name).group.as_deref(), Some("bird6"));
    }
    for file in &rendering.files {
        let text = &file.as_ref().expect("rendered").text;
        assert_eq!(text.len(), text.to_string().len());
        assert!(!text.to_string().contains(char::is_control) || !text.to_string().contains(['\0', '\u{1}']));
    }
}

#[test]
fn work_follows_the_change() {
    let mut one = Vec::new();
    for peers in [20, 2000] {
        let mut renderer = built_in();
        let mut snapshot = snapshot(1, peers);
        let cold = renderer.render(&snapshot);
        let bytes = cold.files.iter().map(|file| file.as_ref().expect("rendered").text.len()).sum();
        let all = Stats {
            items_compared: peers,
            fragments_rendered: peers,
            fragments_shared: peers - 1,
            templates_rendered: 6,
            bytes_rendered: bytes,
        };
        assert_eq!(cold.stats, all, "a first rendering makes every byte");
        assert!(file(&cold, "bird.cfg").changed);

        // Nothing changed, as a look at all of it tells.
        snapshot.revision = 2;
        let idle = renderer.render(&snapshot);
        assert_eq!(idle.stats, Stats { items_compared: peers, ..Stats::default() });
        assert!(!file(&idle, "bird.cfg").changed);

        // One peer changed, and was noted.
        let changes = set_peer(&mut snapshot, 3, peer(7, true));
        renderer.note(&changes);
        let warm = renderer.render(&snapshot);
        assert_eq!((warm.stats.fragments_rendered, warm.stats.templates_rendered), (1, 0));
        one.push(warm.stats.bytes_rendered);
        assert!(file(&warm, "bird.cfg").changed && !file(&warm, "bird_aggr.cfg").changed);
        let text = file(&warm, "bird.cfg").text.clone();
        assert_eq!(text.len(), text.to_string().len());
        assert_eq!(text.to_string().matches("passive on;").count(), 1);

        // One peer changed, and was not noted: all are compared, one is rendered.
        set_peer(&mut snapshot, 4, peer(8, true));
        assert_eq!(renderer.render(&snapshot).stats.fragments_rendered, 1);

        // A note that does not follow the last one does not hide the change in between.
        set_peer(&mut snapshot, 5, peer(9, true));
        renderer.note(&set_peer(&mut snapshot, 6, peer(10, true)));
        let late = renderer.render(&snapshot);
        assert_eq!(late.stats.fragments_rendered, 2);

        // What is kept is what a rendering from scratch gives.
        let fresh = built_in().render(&snapshot);
        for (kept, fresh) in late.files.iter().zip(&fresh.files) {
            let (kept, fresh) = (kept.as_ref().expect("kept"), fresh.as_ref().expect("fresh"));
            assert_eq!(kept.text.to_string(), fresh.text.to_string());
            assert_eq!(kept.text.len(), fresh.text.len());
        }
    }
    assert!(one[0] == one[1] && one[0] > 0, "one peer's text is made, whatever the others: {one:?}");
}

#[test]
fn items_come_and_go() {
    let mut renderer = built_in();
    let mut snapshot = snapshot(1, 1);
    let before = renderer.render(&snapshot);
    assert!(!file(&before, "bird_aggr.cfg").text.to_string().contains("protocol static"));
    let route = Item::Route(Route { prefix: prefix("10.96.0.0/12"), origin: Default::default() });
    renderer.note(&set(&mut snapshot, 2, Family::V4, CollectionId::Routes, "10.96.0.0-12", Some(route)));
    let with = renderer.render(&snapshot);
    assert!(file(&with, "bird_aggr.cfg").text.to_string().contains("route 10.96.0.0/12 blackhole;"));
    assert!(file(&with, "bird_aggr.cfg").text.to_string().contains("protocol static"));
    assert!(
        file(&with, "bird_ipam.cfg").text.to_string().contains("if ( net ~ 10.96.0.0/12 ) then { accept; }")
    );
    renderer.note(&set(&mut snapshot, 3, Family::V4, CollectionId::Routes, "10.96.0.0-12", None));
    let without = renderer.render(&snapshot);
    for name in ["bird_aggr.cfg", "bird_ipam.cfg"] {
        assert_eq!(file(&without, name).text.to_string(), file(&before, name).text.to_string());
        assert_eq!(file(&without, name).text.len(), file(&before, name).text.len());
        assert!(file(&without, name).changed);
    }
}

#[test]
fn a_pending_block_is_a_route_and_not_exported() {
    let mut snapshot = snapshot(1, 0);
    let block = Block {
        prefix: prefix("10.0.0.0/26"),
        blackhole: true,
        exported: false,
        confirmed: false,
        normal_priority: Priority::NORMAL,
    };
    set(&mut snapshot, 2, Family::V4, CollectionId::Blocks, "10.0.0.0-26", Some(Item::Block(block)));
    let text = file(&built_in().render(&snapshot), "bird_aggr.cfg").text.to_string();
    assert!(text.contains("route 10.0.0.0/26 blackhole;") && !text.contains("accept"));
}

const KEYS: &str = "prefix = \"/p\"\nkeys = [\"/a\"]";

/// Values that would change the structure of a file.
const EVIL: [&str; 12] = ["a; b", "a;", "}", "{", "a\nb", "\"", "'", "x y", "# x", "a\\b", "(1)", ""];

#[test]
fn no_value_gets_past_the_guard() {
    let ways = [
        "{{get \"/a/x\"}}",
        "{{getv \"/a/x\"}}",
        "{{#each (list \"/a\")}}{{value}}{{/each}}",
        "{{#each (list \"/a\")}}{{lookup this \"value\"}}{{/each}}",
        "{{#each (list \"/a\")}}{{this.value}}{{/each}}",
        "{{#with (get \"/a/x\")}}{{this}}{{/with}}{{get \"/a/x\"}}",
        "{{default (get \"/a/x\") \"\"}}",
        "{{concat (get \"/a/x\")}}",
        "{{lower (concat (get \"/a/x\"))}}",
        "{{upper (get \"/a/x\")}}",
        "{{join (split (get \"/a/x\") \"~\") \"~\"}}",
        "{{lookup (split (get \"/a/x\") \"~\") 0}}",
        "{{replace (get \"/a/x\") \"~\" \"~\"}}",
        "{{base (get \"/a/x\")}}",
        "{{> part value=(get \"/a/x\")}}",
        "{{lookup (list \"/a\") 0}}",
        "{{sort (split (get \"/a/x\") \"~\")}}",
    ];
    for way in ways {
        for evil in EVIL {
            let dir = folder(KEYS, way);
            put(dir.path(), "templates/part.hbs", "{{value}}");
            let resource =
                render::load(dir.path(), &name("node-1")).remove(0).unwrap_or_else(|e| panic!("{way}: {e}"));
            let mut snapshot = snapshot(1, 0);
            snapshot.view = View::from_entries(1, [("/p/a/x", evil)]);
            let result = Renderer::new(vec![resource]).render(&snapshot).files.remove(0);
            let error = result.expect_err(&format!("{way} with {evil:?}"));
            assert_eq!(error.line, Some(1), "{way}: {error}");
        }
    }
}

#[test]
fn a_mark_cannot_be_forged() {
    check_error(KEYS, "{{get \"/a/x\"}}", &[("/p/a/x", "\u{1}; evil")], &["control characters"]);
    check_error(
        KEYS,
        "{{#each (json (get \"/a/x\"))}}{{this}}{{/each}}",
        &[("/p/a/x", "[\"\\u0001; evil\"]")],
        &["control"],
    );
    check_error(
        KEYS,
        "{{#each (json (get \"/a/x\"))}}{{@key}}{{/each}}",
        &[("/p/a/x", "{\"\\u0001; evil\":1}")],
        &["control"],
    );
    check_error(KEYS, "{{concat (quote \"a\") (get \"/a/x\")}}", &[("/p/a/x", "; evil")], &["typed value"]);
    check_error(KEYS, "{{join (split \"a\" \"\\u0001\") \"x\"}}", &[], &[]);
    check_error(
        KEYS,
        "{{concat \"\\u0001\" (get \"/a/x\")}}",
        &[("/p/a/x", "; evil")],
        &["control character"],
    );
    check_error(KEYS, "a\u{1}b", &[], &["line 1", "control character"]);
    check_error(
        "family = \"v4\"",
        "{{#each ignored_interfaces}}{{upper this}}{{/each}}",
        &[],
        &["typed value"],
    );
    check_error("family = \"v4\"", "{{ignored_interfaces}}", &[], &["line 1"]);
    check("family = \"v4\"", "{{#each ignored_interfaces}}{{this}}{{/each}}", &[], "\"docker0\"");
    check(
        "family = \"v4\"\nformat = \"text\"",
        "{{#each ignored_interfaces}}{{this}}{{/each}}",
        &[],
        "\"docker0\"",
    );
}

#[test]
fn ways_round_the_guard_are_refused_at_load() {
    for (template, part) in [
        ("\n{{{name}}}", "line 2"),
        ("{{&name}}", "go round"),
        ("{{#if a}}\n{{else}}\n\n{{{name}}}{{/if}}", "line 4"),
        ("{{#if a}}{{else if b}}\n{{{name}}}{{/if}}", "line 2"),
        ("{{#each a}}{{#with b}}{{{name}}}{{/with}}{{/each}}", "go round"),
        ("{{#> part}}{{/part}}", "not supported"),
        ("{{> @partial-block}}", "not supported"),
        ("{{> (get \"/a\")}}", "written out"),
        ("{{#*inline \"x\"}}{{/inline}}", "not supported"),
        ("{{> x}}", "includes itself"),
        ("{{> missing}}", "missing"),
        ("{{> ../secret}}", "inside the folder"),
        ("{{> other}}", "`other`, line 2"),
        ("{{log \"x\"}}", "no function `log`"),
        ("\n\n{{nosuch name}}", "line 3: there is no function `nosuch`"),
        ("{{#nosuch name}}{{/nosuch}}", "no block"),
        ("{{lookup (nosuch 1) 2}}", "no function `nosuch`"),
        ("{{#if}}", "line 1"),
        ("{{.Name}}", "Go's template language"),
        ("{{range gets \"/x\"}}{{end}}", "Go's template language"),
        ("{{#each_item peers}}{{/each_item}}", "family"),
    ] {
        let dir = folder("", template);
        put(dir.path(), "templates/part.hbs", "part");
        put(dir.path(), "templates/other.hbs", "\n{{{name}}}");
        put(dir.path(), "secret", "x");
        let error = render::load(dir.path(), &name("n")).remove(0).expect_err(template).to_string();
        assert!(error.contains(part) && error.starts_with("x.toml: `src`"), "{template}: {error}");
    }
}

#[test]
fn the_body_of_an_item_sees_its_item_alone() {
    for (body, part) in [
        ("{{../router_id}}", "leads out"),
        ("{{@root.router_id}}", "leads out"),
        ("{{#each import}}{{../../router_id}}{{/each}}", "leads out"),
        ("{{get \"/a\"}}", "reads the view"),
        ("{{#if (exists \"/a\")}}{{/if}}", "reads the view"),
        ("{{> reads}}", "reads the view"),
        ("{{#each_item routes}}{{/each_item}}", "inside"),
    ] {
        let template = format!("{{{{#each_item peers}}}}{body}{{{{/each_item}}}}");
        let dir = folder("family = \"v4\"\nkeys = [\"/a\"]", &template);
        put(dir.path(), "templates/reads.hbs", "{{get \"/a\"}}");
        let error = render::load(dir.path(), &name("n")).remove(0).expect_err(body).to_string();
        assert!(error.contains(part), "{body}: {error}");
    }
    check_error("family = \"v4\"", "{{#each_item nodes}}{{/each_item}}", &[], &["peers, filters"]);
    check_error("family = \"v4\"", "{{eq (each_item peers) 1}}", &[], &["is a block"]);
    check_error(
        "family = \"v4\"",
        "\n{{#each_item peers}}\n{{nosuch}}\n{{/each_item}}",
        &[],
        &["line 3", "peers "],
    );
    check(
        "family = \"v4\"",
        "{{#each_item peers}}{{ip}},{{/each_item}}|{{#each_item peers}}{{name}} {{/each_item}}",
        &[],
        "10.1.0.0,10.1.0.1,|Mesh_10_1_0_0 Mesh_10_1_0_1 ",
    );
    check("family = \"v6\"", "{{#if has.peers}}x{{/if}}{{version}}{{family}}", &[], "1v6");
}

#[test]
fn reads_stay_inside_the_keys() {
    let view = &[("/p/a/x", "1"), ("/p/a/y/z", "2"), ("/p/b", "3"), ("/q", "4"), ("/p/host/node-1/ip", "5")];
    check(KEYS, "{{get \"/a/x\"}} {{get \"a/y/z\"}} {{get \"/a/n\" 7}}", view, "1 2 7");
    check(KEYS, "{{#each (list \"/a\")}}{{key}}={{value}} {{/each}}", view, "/a/x=1 /a/y/z=2 ");
    check(
        KEYS,
        "{{#each (ls \"/a\")}}{{this}} {{/each}}{{#each (lsdir \"/a\")}}{{this}}{{/each}}",
        view,
        "x y y",
    );
    check(KEYS, "{{exists \"/a/x\"}} {{exists \"/a\"}}", view, "true false");
    check_error(KEYS, "\n{{get \"/b\"}}", view, &["x.hbs", "line 2", "`/b`", "keys"]);
    check_error(KEYS, "{{get \"/ab\"}}", view, &["outside"]);
    check_error(KEYS, "{{ls \"/\"}}", view, &["outside"]);
    check_error(KEYS, "{{get \"/a/../b\"}}", view, &["no key"]);
    check_error(KEYS, "{{get \"/a/n\"}}", view, &["no key `/a/n`"]);
    let node = "prefix = \"/p\"\nkeys = [\"/host//NODENAME\"]";
    check(node, "{{get (concat \"/host/\" node.name \"/ip\")}}", view, "5");
    check("prefix = \"/p/host//NODENAME\"\nkeys = [\"/ip\"]", "{{get \"/ip\"}}", view, "5");
    check_error(node, "{{get \"/host/node-2/ip\"}}", view, &["`/host/node-2/ip`"]);
}

#[test]
fn a_template_is_rendered_again_when_its_keys_change() {
    let dir = folder(KEYS, "{{get \"/a/x\"}}");
    let resource = render::load(dir.path(), &name("n")).remove(0).expect("loaded");
    let mut renderer = Renderer::new(vec![resource]);
    let mut snapshot = snapshot(1, 0);
    snapshot.view = View::from_entries(1, [("/p/a/x", "1")]);
    assert_eq!(renderer.render(&snapshot).stats.templates_rendered, 1);
    snapshot.revision = 2;
    assert_eq!(renderer.render(&snapshot).stats.templates_rendered, 0);
    snapshot.view = View::from_entries(3, [("/p/a/x", "2")]);
    snapshot.revision = 3;
    let rendering = renderer.render(&snapshot);
    assert_eq!(rendering.stats.templates_rendered, 1);
    let file = rendering.files[0].as_ref().expect("rendered");
    assert!(file.changed && file.text.to_string() == "2");
}

#[test]
fn functions() {
    for (template, expect) in [
        ("{{cidr_network \"10.1.2.3/8\"}} {{cidr_len \"fd00::/64\"}}", "10.0.0.0/8 64"),
        (
            "{{cidr_contains \"10.0.0.0/8\" \"10.1.0.0/16\"}} {{cidr_contains \"10.0.0.0/8\" \"11.0.0.1\"}}",
            "true false",
        ),
        ("{{ip_family \"::1\"}} {{ip_family \"10.0.0.0/8\"}}", "v6 v4"),
        ("{{host_prefix \"10.0.0.1\"}} {{host_prefix \"::1\"}}", "10.0.0.1/32 ::1/128"),
        ("{{underscore \"10.0.0.1\"}} {{underscore \"fd00::1\"}}", "10_0_0_1 fd00__1"),
        ("{{quote \"a; b\"}} {{symbol \"a.b-c\"}} {{number \"7\"}}", "\"a; b\" 'a.b-c' 7"),
        ("{{add 1 \"2\"}} {{sub 2147483647 1024}}", "3 2147482623"),
        ("{{join (sort (split \"b,a,c\" \",\")) \"-\"}}", "a-b-c"),
        ("{{upper \"a\"}}{{lower \"B\"}} {{replace \"a.b\" \".\" \"-\"}}", "Ab a-b"),
        ("{{contains \"abc\" \"b\"}} {{contains (split \"a,b\" \",\") \"c\"}}", "true false"),
        ("{{base \"/a/b\"}} {{dir \"/a/b\"}} {{default \"\" \"x\"}} {{default \"y\" \"x\"}}", "b /a x y"),
        ("{{#with (json \"{\\\"a\\\":[1,2]}\")}}{{a.[1]}}{{/with}}", "2"),
        ("{{#if (is_set nothing)}}x{{else}}y{{/if}}{{len \"abc\"}}", "y3"),
        ("{{#if (and (eq 1 1) (not (gt 1 2)))}}x{{/if}}", "x"),
    ] {
        check("", template, &[], expect);
    }
    check("format = \"text\"", "{{to_json (split \"a,b\" \",\")}}", &[], "[\"a\",\"b\"]");
    for (template, part) in [
        ("{{quote \"a'\\\"b\"}}", "double quote"),
        ("{{symbol \"a b\"}}", "not a symbol"),
        ("{{number \"1x\"}}", "not a whole number"),
        ("{{cidr_len \"x\"}}", "not an address or prefix"),
        ("{{json \"{\"}}", "no JSON"),
        ("{{split \"a\"}}", "takes: text separator"),
        ("{{upper missing}}", "`missing`"),
        ("{{missing}}", "missing"),
    ] {
        check_error("", template, &[], &[part, "line 1"]);
    }
}

#[test]
fn bad_resources_are_named_and_stop_no_other() {
    let dir = folder("", "fine\n");
    for (name, text) in [
        ("a.toml", "[template]\nsrc=\"x.hbs\"\ndest=\"/a\"\nsrcs=\"x\""),
        ("b.toml", "[template]\ndest=\"/b\""),
        ("c.toml", "[template]\nsrc=\"../x\"\ndest=\"/c\""),
        ("d.toml", "[template]\nsrc=\"x.hbs\"\ndest=\"d\""),
        ("e.toml", "[template]\nsrc=\"x.hbs\"\ndest=\"/e\"\nmode=\"9\""),
        ("f.toml", "[template]\nsrc=\"x.hbs\"\ndest=\"/f\"\nmodel=2"),
        ("g.toml", "[template]\nsrc=\"x.hbs\"\ndest=\"/g\"\nfamily=\"4\""),
        ("h.toml", "[template]\nsrc=\"x.hbs\"\ndest=\"/h\"\nkeys=[1]"),
        ("i.toml", "[template]\nsrc=\"x.hbs\"\ndest=\"/i\"\nuid=-2"),
        ("j.toml", "[template\n"),
        ("k.toml", "x=1\n[template]\nsrc=\"x.hbs\"\ndest=\"/k\""),
        ("l.toml", ""),
        ("sub/m.toml", "[template]\nsrc=\"x.hbs\"\ndest=\"/m\""),
        ("x2.toml", "[template]\nsrc=\"x.hbs\"\ndest=\"/tmp/x.cfg\""),
        ("..data/n.toml", "bad"),
        ("o.txt", "bad"),
    ] {
        put(dir.path(), &format!("conf.d/{name}"), text);
    }
    let results = render::load(dir.path(), &name("n"));
    let errors: Vec<String> =
        results.iter().filter_map(|r| r.as_ref().err()).map(ToString::to_string).collect();
    let fields = [
        "`srcs`: unknown",
        "`src`: missing",
        "`src`: `../x`",
        "`dest`",
        "`mode`",
        "`model`: version 2",
        "`family`",
        "`keys`",
        "`uid`",
        "line 1: no TOML",
        "`x`: unknown",
        "`template`",
        "`dest`: /tmp/x.cfg is written by x.toml",
    ];
    assert_eq!(errors.len(), fields.len(), "{errors:#?}");
    for (error, field) in errors.iter().zip(fields) {
        assert!(error.contains(field), "{error}: {field}");
    }
    let good: Vec<&str> = results.iter().filter_map(|r| r.as_ref().ok()).map(|r| r.file.as_str()).collect();
    assert_eq!(good, ["sub/m.toml", "x.toml"]);
}

#[test]
fn a_symbolic_link_out_of_the_folder_is_refused() {
    let dir = folder("", "x");
    put(dir.path(), "secret", "s");
    fs::remove_file(dir.path().join("templates/x.hbs")).expect("removed");
    std::os::unix::fs::symlink("../secret", dir.path().join("templates/x.hbs")).expect("linked");
    let error = render::load(dir.path(), &name("n")).remove(0).expect_err("refused");
    assert!(error.reason.contains("leads out"), "{error}");
}

#[test]
fn the_exported_set_is_the_built_in_one() {
    let dir = tempfile::tempdir().expect("a folder");
    render::export(dir.path(), false).expect("exported");
    render::export(dir.path(), false).expect("the same again");
    let loaded = render::load(dir.path(), &name("node-1")).into_iter().map(|r| r.expect("loaded")).collect();
    let (ours, theirs) =
        (built_in().render(&full_snapshot()), Renderer::new(loaded).render(&full_snapshot()));
    assert_eq!(ours.files.len(), theirs.files.len());
    for (a, b) in ours.files.iter().zip(&theirs.files) {
        let (a, b) = (a.as_ref().expect("ours"), b.as_ref().expect("theirs"));
        assert_eq!((a.text.to_string(), &a.dest, &a.group), (b.text.to_string(), &b.dest, &b.group));
    }
    put(dir.path(), "templates/bird.hbs", "mine");
    assert!(
        render::export(dir.path(), false)
            .expect_err("refused")
            .to_string()
            .contains("bird.hbs exists and differs")
    );
    assert_eq!(fs::read_to_string(dir.path().join("templates/bird.hbs")).expect("read"), "mine");
    render::export(dir.path(), true).expect("forced");
}

#[test]
fn one_bad_template_does_not_stop_the_others() {
    let dir = folder(KEYS, "{{get \"/a/x\"}}");
    put(dir.path(), "conf.d/y.toml", "[template]\nsrc=\"y.hbs\"\ndest=\"/y\"");
    put(dir.path(), "templates/y.hbs", "fine");
    let loaded = render::load(dir.path(), &name("n")).into_iter().map(|r| r.expect("loaded")).collect();
    let mut renderer = Renderer::new(loaded);
    let mut snapshot = snapshot(1, 0);
    let rendering = renderer.render(&snapshot);
    assert!(
        rendering.files[0]
            .as_ref()
            .expect_err("no key")
            .to_string()
            .starts_with("x.toml: template x.hbs, line 1")
    );
    assert_eq!(rendering.files[1].as_ref().expect("fine").text.to_string(), "fine");
    snapshot.view = View::from_entries(2, [("/p/a/x", "1")]);
    snapshot.revision = 2;
    assert_eq!(renderer.render(&snapshot).files[0].as_ref().expect("well again").text.to_string(), "1");
}

/// The documentation has a line for each function and for each collection, and its example works.
#[test]
fn the_documentation_is_true() {
    let docs =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/templates.md")).expect("read");
    for function in render::FUNCTIONS {
        assert!(
            docs.lines().any(|l| l.starts_with("| `") && l.contains(&format!("`{}", function.name))),
            "{}",
            function.name
        );
    }
    for id in CollectionId::ALL {
        assert!(docs.contains(&format!("`{}`", id.name())), "{}", id.name());
    }
    let example = &docs[docs.find("## An example").expect("an example")..];
    let block = |language: &str| {
        let from = example.find(&format!("```{language}\n")).expect("a block") + language.len() + 4;
        example[from..from + example[from..].find("```").expect("its end")].to_owned()
    };
    let dir = tempfile::tempdir().expect("a folder");
    put(dir.path(), "conf.d/extra.toml", &block("toml"));
    put(dir.path(), "templates/extra.hbs", &block("handlebars"));
    let resource = render::load(dir.path(), &name("n1")).remove(0).unwrap_or_else(|error| panic!("{error}"));
    let mut snapshot = snapshot(1, 0);
    let base = std::sync::Arc::make_mut(&mut snapshot.models[0].base);
    base.node.name = name("n1");
    set_peer(&mut snapshot, 1, tailorbird::engine::model::Peer { ip: ip("10.0.0.2"), ..peer(0, false) });
    snapshot.view = View::from_entries(1, [("/calico/bgp/v1/host/n1/ip_addr_v4", "10.0.0.1")]);
    let file = Renderer::new(vec![resource])
        .render(&snapshot)
        .files
        .remove(0)
        .unwrap_or_else(|error| panic!("{error}"));
    let text = file.text.to_string();
    assert!(docs.contains(&format!("it gives:\n\n```\n{text}```")), "{text}");
}

/// Says how long a fragment takes: `cargo test --release --test render -- --ignored --nocapture speed`.
#[test]
#[ignore = "a measurement"]
fn speed() {
    let snapshot = snapshot(1, 10_000);
    let mut renderer = built_in();
    let start = std::time::Instant::now();
    let rendering = renderer.render(&snapshot);
    let cold = start.elapsed();
    println!(
        "cold: {cold:?}, {:?} a fragment, {} bytes",
        cold / 10_000,
        file(&rendering, "bird.cfg").text.len()
    );
    let mut next = snapshot.clone();
    let start = std::time::Instant::now();
    renderer.note(&set_peer(&mut next, 2, peer(7, true)));
    renderer.render(&next);
    println!("one change: {:?}", start.elapsed());
    let start = std::time::Instant::now();
    set_peer(&mut next, 3, peer(8, true));
    renderer.render(&next);
    println!("one change, not noted: {:?}", start.elapsed());
}

/// Peers that differ from each other in each field, two of each sort.
fn all_sorts_of_peers() -> Snapshot {
    let every = full_snapshot();
    let items = &every.models[0].collection(CollectionId::Peers).items;
    let Some(Item::Peer(full)) = items.get("Node_10_2_0_1_port_1790").map(|item| &**item) else {
        panic!("a peer")
    };
    let mut snapshot = snapshot(1, 3);
    for sort in 0..18 {
        for twin in 0..2 {
            let mut peer = peer(1000 + sort * 10 + twin, sort % 2 == 0);
            let full = full.clone();
            match sort {
                0 => Arc::make_mut(&mut peer.terms).local_as = full.local_as,
                1 => peer.port = full.port,
                2 => peer.as_number = full.local_as.expect("an AS"),
                3 => Arc::make_mut(&mut peer.terms).source = None,
                4 => Arc::make_mut(&mut peer.terms).ttl_security = full.ttl_security,
                5 => peer.same_as = false,
                6 => Arc::make_mut(&mut peer.terms).import = full.import.clone(),
                7 => Arc::make_mut(&mut peer.terms).export = full.export.clone(),
                8 => Arc::make_mut(&mut peer.terms).kind = "global",
                9 => Arc::make_mut(&mut peer.terms).restart_time = full.restart_time,
                10 => Arc::make_mut(&mut peer.terms).keepalive_time = full.keepalive_time,
                11 => Arc::make_mut(&mut peer.terms).rr_cluster_id = full.rr_cluster_id,
                12 => Arc::make_mut(&mut peer.terms).password = full.password.clone(),
                13 => Arc::make_mut(&mut peer.terms).next_hop = full.next_hop,
                14 => Arc::make_mut(&mut peer.terms).allow_local_as = full.allow_local_as,
                15 => Arc::make_mut(&mut peer.terms).normal_priority = Priority::new(7).expect("a priority"),
                16 => peer.ip = ip(&format!("10.77.0.{}", twin + 1)),
                _ => {
                    let terms = Arc::make_mut(&mut peer.terms);
                    (terms.import, terms.export) = (full.export.clone(), full.import.clone());
                }
            }
            set_peer(&mut snapshot, 1, peer);
        }
    }
    snapshot
}

/// The body of the built-in template for sessions.
fn built_in_stanza() -> &'static str {
    let source = render::built_in_files()
        .iter()
        .find(|file| file.path == "templates/bird.hbs")
        .expect("it is built in")
        .text;
    let (_, stanza) = source.split_once("{{#each_item peers}}\n").expect("it has peers");
    stanza.split_once("{{/each_item}}").expect("it ends").0
}

/// The sessions of a mesh differ in what is written out alone.
#[test]
fn the_built_in_stanza_is_rendered_once_for_sessions_that_are_alike() {
    let stats = rendering_of(&snapshot(1, 100), built_in_stanza()).expect("it can be used").stats;
    assert_eq!((stats.fragments_rendered, stats.fragments_rendered - stats.fragments_shared), (100, 1));
}

/// What a body of `peers` gives.
fn rendering_of(snapshot: &Snapshot, body: &str) -> Result<Rendering, String> {
    let dir = folder("family = \"v4\"", &format!("{{{{#each_item peers}}}}\n{body}{{{{/each_item}}}}\n"));
    let mut loaded = render::load(dir.path(), &name("node-1"));
    let resource = loaded.remove(0).map_err(|error| error.to_string())?;
    Ok(Renderer::new(vec![resource]).render(snapshot))
}

fn peers_of(snapshot: &Snapshot, body: &str) -> Result<String, String> {
    let mut rendering = rendering_of(snapshot, body)?;
    rendering.files.remove(0).map(|file| file.text.to_string()).map_err(|error| error.to_string())
}

/// An item whose fields are only written out shares its text with others that are like it, and that must never show. Whoever asks
/// about the item as a whole has it rendered by itself.
#[test]
fn items_that_are_alike_are_rendered_as_each_by_itself() {
    const BY_ITSELF: &str = "{{#if this}}{{/if}}";
    let snapshot = all_sorts_of_peers();
    for (body, fails) in [
        (built_in_stanza(), false),
        ("{{name}} {{ip}}\n", false),
        ("{{name}} {{upper name}} {{ip}} {{as_number}}{{normal_priority}}\n", false),
        ("{{name}} {{#if (eq kind \"mesh\")}}{{ip}}{{else}}{{as_number}}{{/if}}\n", false),
        ("{{#each import}}{{../ip}} {{this.takes_same_as}} {{reject}}\n{{/each}}{{ip}}\n", false),
        ("{{#each export}}{{reject}} {{../name}}\n{{else}}{{name}} {{ip}}\n{{/each}}", false),
        ("{{#with ip}}{{this}} {{../name}}{{/with}} {{ip}}\n", false),
        ("{{this.name}} {{concat ip \"/32\"}} {{this.ip}} {{same_as}}{{passive}}\n", false),
        ("{{name}}{{#unless passive}} {{as_number}}{{/unless}} {{default port 179}}\n", false),
        (
            "{{#if password}}{{password}}{{/if}} {{name}}{{#if (is_set restart_time)}} {{restart_time}}{{/if}}\n",
            false,
        ),
        ("{{lookup this \"name\"}} {{ip}}\n", false),
        (
            "{{name}} {{#each import}}{{#if (eq ./../ip \"10.77.0.1\")}}{{../ip}}{{/if}}{{/each}}{{ip}}\n",
            false,
        ),
        ("{{name}} {{#each import}}{{#if (eq this/../ip \"10.77.0.1\")}} X{{/if}}{{/each}} {{ip}}\n", false),
        ("the same\n", false),
        ("{{name}} {{port}}\n", true),
        ("{{name}} {{ip}} {{next_hop}}\n", true),
        ("{{nosuch}} {{ip}}\n", true),
    ] {
        let together = peers_of(&snapshot, body);
        let alone = peers_of(&snapshot, &format!("{BY_ITSELF}{body}"));
        assert_eq!(together, alone, "{body}");
        assert_eq!(together.is_err(), fails, "{body}: {together:?}");
    }
}
