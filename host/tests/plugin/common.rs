use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};
use tailorbird::engine::{Engine, Event, Settings, Snapshot, View};
use tailorbird::plugin::config::{Configuration, Entry};
use tailorbird::plugin::{LoadError, PluginSet, Sandbox, Session};
use tailorbird::policy::{Asked, CallError};
use tailorbird::resources::{Defaults, Document, parse};
use tempfile::TempDir;

pub(crate) use crate::support::component::{Guest, NOTHING, with_section};

/// A folder with components, and the configuration that names them.
pub(crate) struct Plugins {
    pub(crate) folder: TempDir,
    pub(crate) configuration: Configuration,
}

impl Plugins {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), configuration: Configuration::default() }
    }

    pub(crate) fn of(guests: &[Guest]) -> Self {
        guests.iter().fold(Self::new(), |all, guest| all.with(guest, |_| ()))
    }

    pub(crate) fn with(self, guest: &Guest, change: impl FnOnce(&mut Entry)) -> Self {
        self.with_bytes(&guest.name.clone(), &guest.component(), change)
    }

    pub(crate) fn with_bytes(mut self, name: &str, bytes: &[u8], change: impl FnOnce(&mut Entry)) -> Self {
        let path = self.path(&format!("{}-{name}.wasm", self.configuration.plugins.len()));
        std::fs::write(&path, bytes).unwrap();
        let mut entry = Entry::trial(path);
        change(&mut entry);
        self.configuration.plugins.push(entry);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn try_load(&self) -> Result<PluginSet, Vec<LoadError>> {
        PluginSet::load(&sandbox(), &self.configuration)
    }

    pub(crate) fn load(&self) -> PluginSet {
        self.try_load().unwrap()
    }

    /// The only reason why nothing was loaded.
    pub(crate) fn refusal(&self) -> String {
        match self.try_load() {
            Ok(set) => panic!("loaded: {set:?}"),
            Err(errors) => {
                assert_eq!(errors.len(), 1, "{errors:?}");
                errors[0].to_string()
            }
        }
    }
}

pub(crate) fn sandbox() -> Sandbox {
    Sandbox::new(None).unwrap()
}

/// A snapshot whose view has these keys.
pub(crate) fn snapshot(revision: u64, keys: &[(&str, &str)]) -> Snapshot {
    let settings = Settings::new("this".parse().unwrap());
    let view = View::from_entries(revision, keys.iter().copied());
    Snapshot { view, revision, ..Engine::new(settings).snapshot().clone() }
}

/// A rendering on a view without keys.
pub(crate) fn session(set: &PluginSet) -> Session {
    set.begin(&snapshot(1, &[]), Instant::now())
}

/// Calls the function of the plugin in a place with a text.
pub(crate) fn call(session: &mut Session, plugin: usize) -> Result<Asked<Value>, CallError> {
    session.call_function(plugin, 0, &[&json!("x")])
}

/// The cause of the failure of a call in a rendering of its own.
pub(crate) fn cause(set: &PluginSet, plugin: usize) -> String {
    call(&mut session(set), plugin).unwrap_err().to_string()
}

/// The body of a call that returns the text that `$ptr` and `$len` of this code name.
pub(crate) fn returns_text(code: &str, ptr: &str, len: &str) -> String {
    format!(
        "{code} (i32.store8 (i32.const 2008) (i32.const 3)) (i32.store (i32.const 2016) {ptr}) \
         (i32.store (i32.const 2020) {len}) (i32.const 2000)"
    )
}

/// A text in memory from 3000, and a body of a call that returns it.
pub(crate) fn text(text: &str) -> (String, String) {
    let escaped: String = text.bytes().map(|b| format!("\\{b:02x}")).collect();
    let data = format!("(data (i32.const 3000) \"{escaped}\")");
    (data, returns_text("", "(i32.const 3000)", &format!("(i32.const {})", text.len())))
}

/// A body that reads the key that was handed over (a text as first argument) and returns its value, or nothing.
pub(crate) const READS: &str = r#"
  (local $key i32) (local $n i32)
  (local.set $key (i32.load offset=8 (local.get $ptr)))
  (local.set $n (i32.load offset=12 (local.get $ptr)))
  (call $get (local.get $key) (local.get $n) (i32.const 2100))
  (if (result i32) (i32.load8_u (i32.const 2100))
    (then
      (i32.store8 (i32.const 2008) (i32.const 3))
      (i32.store (i32.const 2016) (i32.load (i32.const 2104)))
      (i32.store (i32.const 2020) (i32.load (i32.const 2108)))
      (i32.const 2000))
    (else (i32.const 1024)))"#;

/// A peer with the password `swordfish` at `/calico/bgp/v1/global/peer_v4/10.9.9.9`.
pub(crate) fn snapshot_with_password() -> Snapshot {
    let settings = Settings::new("this".parse().unwrap());
    let defaults = Defaults::new(settings.secret_namespace.clone());
    let mut engine = Engine::new(settings);
    let objects = [
        json!({"apiVersion": "projectcalico.org/v3", "kind": "Node", "metadata": {"name": "this"},
               "spec": {"bgp": {"ipv4Address": "10.0.0.1/24"}}}),
        json!({"apiVersion": "projectcalico.org/v3", "kind": "BGPPeer", "metadata": {"name": "p"},
               "spec": {"peerIP": "10.9.9.9", "asNumber": 65000,
                        "password": {"secretKeyRef": {"name": "s", "key": "k"}}}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "kube-system"},
               "stringData": {"k": "swordfish"}, "data": {"k": "c3dvcmRmaXNo"}}),
    ];
    engine.apply(objects.iter().map(|object| match parse(object, &defaults) {
        Ok(Document::Object(parsed)) => Event::Upsert(parsed),
        other => panic!("{other:?}"),
    }));
    engine.snapshot().clone()
}
