//! Functions of plugins in templates.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::json;
use tailorbird::engine::{Engine, Event, Settings, Snapshot, View};
use tailorbird::plugin::{PluginSet, Session};
use tailorbird::policy::OnError;
use tailorbird::render::{self, Renderer, SharedCalls};
use tailorbird::resources::{Defaults, Document, parse};

use crate::common::*;

/// A template, and the plugins that it calls.
struct Templates {
    folder: tempfile::TempDir,
    set: PluginSet,
    renderer: Renderer,
}

impl Templates {
    fn new(set: PluginSet, template: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for part in ["conf.d", "templates"] {
            fs::create_dir(folder.path().join(part)).unwrap();
        }
        let resource = "[template]\nsrc = \"a.hbs\"\ndest = \"/x/a.cfg\"\nfamily = \"v4\"\n";
        fs::write(folder.path().join("conf.d/a.toml"), resource).unwrap();
        fs::write(folder.path().join("templates/a.hbs"), template).unwrap();
        let renderer = Self::renderer(&folder, &set).unwrap();
        Self { folder, set, renderer }
    }

    fn renderer(folder: &tempfile::TempDir, set: &PluginSet) -> Result<Renderer, String> {
        let functions = render::plugin_functions(set).map_err(|error| error.to_string())?;
        let loaded = render::load_with(folder.path(), &"this".parse().unwrap(), &functions);
        let resources = loaded.into_iter().collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        Ok(Renderer::new(resources))
    }

    /// The text, the fragments that were rendered, and the session.
    fn render(&mut self, snapshot: &Snapshot) -> (Result<String, String>, usize, Arc<Mutex<Session>>) {
        let session = Arc::new(Mutex::new(self.set.begin(snapshot, Instant::now())));
        let calls: SharedCalls = session.clone();
        let rendering = self.renderer.render_with(snapshot, Some(&calls));
        let text = rendering.files.into_iter().next().unwrap();
        let text = text.map(|file| file.text.to_string()).map_err(|error| error.to_string());
        (text, rendering.stats.fragments_rendered, session)
    }

    fn text(&mut self, snapshot: &Snapshot) -> String {
        self.render(snapshot).0.unwrap()
    }
}

/// `f` returns the value of the key that its first argument names, or nothing.
fn reader() -> Guest {
    Guest::function("reader", READS).wants(&["/"])
}

/// `f` returns its first argument.
fn echo() -> Guest {
    let body = "(i64.store (i32.const 2008) (i64.load (local.get $ptr))) \
                (i64.store (i32.const 2016) (i64.load offset=8 (local.get $ptr))) (i32.const 2000)";
    Guest::function("echo", body)
}

fn constant(value: &str) -> Guest {
    let (data, body) = text(value);
    Guest::function("constant", &body).more(&data)
}

#[test]
fn a_function_is_a_helper_and_a_sub_expression() {
    let set = Plugins::of(&[echo()]).load();
    let template = "{{f \"a-b\"}} {{upper (f (f \"x\"))}} {{#if (f false)}}no{{else}}yes{{/if}} {{quote (f \"a b\")}} \
                    {{#each (f (split \"1,2\" \",\"))}}{{this}};{{/each}} {{add (f 2) 3}} {{community (f \"65000:1\")}}\n";
    let mut templates = Templates::new(set, template);
    assert_eq!(templates.text(&snapshot(1, &[])), "a-b X yes \"a b\" 1;2; 5 (65000, 1)\n");
}

#[test]
fn what_a_function_returns_passes_the_guard_like_any_value() {
    for bad in ["a; b", "}", "\"", "#", ""] {
        let mut templates = Templates::new(Plugins::of(&[constant(bad)]).load(), "{{f}}");
        let (result, ..) = templates.render(&snapshot(1, &[]));
        let error = result.unwrap_err();
        assert!(error.contains("a.hbs") && error.contains("line 1"), "{bad:?}: {error}");
    }
    let mut templates = Templates::new(Plugins::of(&[constant("a\"; reject;")]).load(), "{{quote (f)}}");
    assert!(templates.render(&snapshot(1, &[])).0.unwrap_err().contains("double quote"));
}

#[test]
fn typed_values_and_missing_arguments_do_not_reach_a_function() {
    for (template, told) in [
        ("{{f (quote \"a\")}}", "argument 1 is a typed value"),
        ("{{f nosuch}}", "argument 1 (`nosuch`) is missing"),
        ("{{f 1 2 3}}", "takes: [a] [b]"),
        ("{{f a=1}}", "takes: [a] [b]"),
    ] {
        let mut templates = Templates::new(Plugins::of(&[echo()]).load(), template);
        let error = templates.render(&snapshot(1, &[])).0.unwrap_err();
        assert!(error.contains(told), "{template}: {error}");
    }
}

#[test]
fn a_template_without_its_plugin_is_refused() {
    let templates = Templates::new(Plugins::of(&[echo()]).load(), "{{f 1}}");
    let error = Templates::renderer(&templates.folder, &PluginSet::default()).map(drop).unwrap_err();
    assert!(error.contains("there is no function `f`"), "{error}");
}

#[test]
fn a_function_cannot_take_a_name_that_templates_have() {
    for name in ["get", "each_item", "if", "upper"] {
        let escaped: String = name.bytes().map(|b| format!("\\{b:02x}")).collect();
        let guest = echo().more(&format!(
            "(data (i32.const 3000) \"{escaped}\") (data (i32.const 1144) \"\\b8\\0b\\00\\00\\{:02x}\\00\\00\\00\")",
            name.len()
        ));
        let set = Plugins::of(&[guest]).load();
        let told = render::plugin_functions(&set).unwrap_err().to_string();
        assert!(told.starts_with("plugin echo: ") && told.contains(name), "{told}");
    }
}

#[test]
fn a_file_is_rendered_again_when_what_a_function_read_has_changed() {
    let set = Plugins::of(&[reader()]).load();
    let mut templates = Templates::new(set, "{{#with (f \"/a\")}}{{this}}{{else}}none{{/with}}");
    let mut view = |revision, keys: &[(&str, &str)]| templates.text(&snapshot(revision, keys));
    assert_eq!(view(1, &[("/b", "1")]), "none");
    assert_eq!(view(2, &[("/a", "x")]), "x");
    assert_eq!(view(3, &[("/a", "y")]), "y");
}

/// An engine with this node and peers.
fn cluster(peers: &[&str]) -> (Engine, Defaults) {
    let settings = Settings::new("this".parse().unwrap());
    let defaults = Defaults::new(settings.secret_namespace.clone());
    let mut engine = Engine::new(settings);
    let node = json!({"apiVersion": "projectcalico.org/v3", "kind": "Node", "metadata": {"name": "this"},
                      "spec": {"bgp": {"ipv4Address": "10.0.0.1/24"}}});
    let peers = peers.iter().map(|ip| {
        json!({"apiVersion": "projectcalico.org/v3", "kind": "BGPPeer", "metadata": {"name": format!("p{ip}")},
               "spec": {"peerIP": ip, "asNumber": 65000}})
    });
    let objects: Vec<_> = std::iter::once(node).chain(peers).collect();
    engine.apply(objects.iter().map(|object| match parse(object, &defaults) {
        Ok(Document::Object(parsed)) => Event::Upsert(parsed),
        other => panic!("{other:?}"),
    }));
    (engine, defaults)
}

#[test]
fn only_the_items_whose_functions_read_what_changed_are_rendered_again() {
    let set = Plugins::of(&[reader()]).load();
    let template = "{{#each_item peers}}\n{{ip}} {{#with (f (concat \"/x/\" ip))}}{{this}}{{else}}{{/with}}\n{{/each_item}}\n";
    let mut templates = Templates::new(set, template);
    let (engine, _) = cluster(&["10.1.0.1", "10.1.0.2", "10.1.0.3"]);
    let at = |revision, keys: &[(&str, &str)]| Snapshot {
        revision,
        view: View::from_entries(revision, keys.iter().copied()),
        ..engine.snapshot().clone()
    };
    let first = at(10, &[("/x/10.1.0.2", "two")]);
    let (text, rendered, _) = templates.render(&first);
    assert_eq!((text.unwrap().as_str(), rendered), ("10.1.0.1 \n10.1.0.2 two\n10.1.0.3 \n", 3));
    let (_, rendered, session) = templates.render(&first);
    let calls = |session: &Arc<Mutex<Session>>| session.lock().unwrap().usage().next().unwrap().calls;
    assert_eq!((rendered, calls(&session)), (0, 0));

    // The view of a later revision in which one key has come and nothing else has changed.
    let view = first.view.with(11, "/x/10.1.0.3", Some("three"));
    let second = Snapshot { revision: 11, view, ..first.clone() };
    let (text, rendered, session) = templates.render(&second);
    assert_eq!((text.unwrap().as_str(), rendered), ("10.1.0.1 \n10.1.0.2 two\n10.1.0.3 three\n", 1));
    // Configure, and the one call.
    assert_eq!(calls(&session), 2);
    assert_eq!(templates.render(&second).1, 0);
}

#[test]
fn a_failing_function_costs_its_file_unless_it_may_be_skipped() {
    let traps = Guest::function("traps", "(unreachable)");
    let mut templates = Templates::new(Plugins::of(std::slice::from_ref(&traps)).load(), "a {{f 1}}\n");
    let error = templates.render(&snapshot(1, &[])).0.unwrap_err();
    assert!(
        error.contains("plugin traps: functions.call: `f`: wasm trap") && error.contains("line 1"),
        "{error}"
    );

    let set = Plugins::new().with(&traps, |entry| entry.on_error = OnError::Skip).load();
    let mut templates = Templates::new(set, "a {{#if (f 1)}}b{{else}}c{{/if}}\n");
    let (text, _, session) = templates.render(&snapshot(1, &[]));
    assert_eq!(text.unwrap(), "a c\n");
    assert_eq!(session.lock().unwrap().skipped().len(), 1);
    // It is called again the next time, for it could succeed.
    let (_, _, session) = templates.render(&snapshot(1, &[]));
    assert_eq!(session.lock().unwrap().usage().next().unwrap().calls, 2);
}

#[test]
fn a_function_is_not_called_with_a_password_and_no_error_shows_one() {
    let key = "/calico/bgp/v1/global/peer_v4/10.9.9.9";
    let folder_of = |template: &str| {
        let set = Plugins::of(&[reader()]).load();
        let mut templates = Templates::new(set, "");
        let folder = templates.folder.path();
        let resource = "[template]\nsrc = \"a.hbs\"\ndest = \"/x/a.cfg\"\nkeys = [\"/calico\"]\n";
        fs::write(folder.join("conf.d/a.toml"), resource).unwrap();
        fs::write(folder.join("templates/a.hbs"), template).unwrap();
        templates.renderer = Templates::renderer(&templates.folder, &templates.set).unwrap();
        templates
    };
    let snapshot = snapshot_with_password();
    let with = |inner: &str| format!("{{{{#with (json (getv \"{key}\"))}}}}{inner}{{{{/with}}}}");
    for (inner, reason) in [
        ("{{f password}}", "argument 1 holds a password"),
        ("{{f (concat \"x-\" password)}}", "argument 1 holds a password"),
        ("{{f this}}", "argument 1 holds a password"),
        ("{{getv password}}", "(hidden)"),
        ("{{replace password 1}}", "takes: "),
    ] {
        let error = folder_of(&with(inner)).render(&snapshot).0.unwrap_err();
        assert!(error.contains(reason) && !error.contains("swordf"), "{inner}: {error}");
    }
    // A template may write it.
    assert_eq!(folder_of(&with("{{quote password}}")).text(&snapshot), "\"swordfish\"");
}
