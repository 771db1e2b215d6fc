//! Components made from text: a core module in WAT gets the contract's types and becomes a plugin.

use std::path::Path;

use tailorbird::plugin::config::{Configuration, Entry};
use tailorbird::plugin::{PluginSet, Sandbox};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// A plugin's core module, piece by piece. What is not set does nothing and does it well.
#[derive(Clone)]
pub struct Guest {
    pub name: String,
    pub contract: String,
    pub wants: Vec<String>,
    pub world: &'static str,
    /// The body of `configure`, which has the settings as `$ptr` and `$len`; it returns a result's address.
    pub configure: String,
    /// The bodies of the other exports of the world, by name; those of the default do nothing.
    pub bodies: Vec<(&'static str, String)>,
    /// Further items of the module.
    pub more: String,
    /// The pages of memory, of 64 KiB, that it begins with.
    pub pages: u32,
}

/// The result `ok` without a value, and an empty answer: zeros.
pub const NOTHING: &str = "(i32.const 1024)";

impl Guest {
    /// A plugin of a world that answers nothing.
    pub fn new(name: &str, world: &'static str) -> Self {
        Self {
            name: name.to_owned(),
            contract: "0.1.0".to_owned(),
            wants: Vec::new(),
            world,
            configure: NOTHING.to_owned(),
            bodies: Vec::new(),
            more: String::new(),
            pages: 1,
        }
    }

    /// A plugin with one function `f` of any values, whose `call` has this body; it has the arguments as `$f`, `$ptr`
    /// and `$len`.
    pub fn function(name: &str, body: &str) -> Self {
        Self::new(name, "functions-plugin").body("functions#call", body)
    }

    /// With this body of an export, as `peers#select`.
    pub fn body(mut self, export: &'static str, body: &str) -> Self {
        self.bodies.push((export, body.to_owned()));
        self
    }

    pub fn configure(mut self, body: &str) -> Self {
        self.configure = body.to_owned();
        self
    }

    pub fn wants(mut self, wants: &[&str]) -> Self {
        self.wants = wants.iter().map(|&want| want.to_owned()).collect();
        self
    }

    pub fn more(mut self, items: &str) -> Self {
        self.more.push_str(items);
        self
    }

    pub fn pages(mut self, pages: u32) -> Self {
        self.pages = pages;
        self
    }

    fn body_of(&self, export: &str, default: &str) -> String {
        let found = self.bodies.iter().rev().find(|(name, _)| *name == export);
        found.map_or(default.to_owned(), |(_, body)| body.clone())
    }

    /// The core module.
    pub fn wat(&self) -> String {
        let package = "tailorbird:policy";
        let has = |interface: &str| {
            self.world == "plugin"
                || self.world.strip_suffix("-plugin").is_some_and(|world| world == interface)
        };
        let mut exports = String::new();
        // A request is handed over as a pointer to its fields when they are many.
        if has("peers") {
            exports += &format!(
                "(func (export \"{package}/peers@0.1.0#select\") (param i32) (result i32) {})\n",
                self.body_of("peers#select", NOTHING)
            );
        }
        if has("filter") {
            let params = "(param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)";
            exports += &format!(
                "(func (export \"{package}/filter@0.1.0#advertise\") {params} (result i32) {})\n",
                self.body_of("filter#advertise", NOTHING)
            );
            exports += &format!(
                "(func (export \"{package}/filter@0.1.0#rules\") (param i32) (result i32) {})\n",
                self.body_of("filter#rules", NOTHING)
            );
        }
        if has("functions") {
            exports += &format!(
                "(func (export \"{package}/functions@0.1.0#functions\") (result i32) {})\n",
                self.body_of("functions#functions", "(i32.const 1100)")
            );
            exports += &format!(
                "(func $call (export \"{package}/functions@0.1.0#call\") (param $f i32) (param $ptr i32) (param $len i32) \
                 (result i32) {})\n",
                self.body_of("functions#call", NOTHING)
            );
        }
        format!(
            r#"(module
  (import "{package}/kv@0.1.0" "revision" (func $revision (result i64)))
  (import "{package}/kv@0.1.0" "get" (func $get (param i32 i32 i32)))
  (import "{package}/kv@0.1.0" "list" (func $list (param i32 i32 i32 i32 i32 i32 i32)))
  (import "{package}/log@0.1.0" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") {pages})
  (global $top (mut i32) (i32.const 8192))
  ;; zeros from 1024; the list of functions: one `f` with two optional parameters `a` and `b` of any kind
  (data (i32.const 1100) "\78\04\00\00\01\00\00\00")
  (data (i32.const 1144) "\b0\04\00\00\01\00\00\00\c0\04\00\00\02\00\00\00\b0\04\00\00\01\00\00\00")
  (data (i32.const 1200) "f")
  (data (i32.const 1202) "a")
  (data (i32.const 1204) "b")
  (data (i32.const 1216) "\b2\04\00\00\01\00\00\00\00\01\00\00\b4\04\00\00\01\00\00\00\00\01\00\00")
  (func (export "cabi_realloc") (param $old i32) (param $size i32) (param $align i32) (param $new i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and
      (i32.add (global.get $top) (i32.sub (local.get $align) (i32.const 1)))
      (i32.xor (i32.sub (local.get $align) (i32.const 1)) (i32.const -1))))
    (global.set $top (i32.add (local.get $at) (local.get $new)))
    (block $room
      (loop $grow
        (br_if $room (i32.le_u (global.get $top) (i32.mul (memory.size) (i32.const 65536))))
        (br_if $grow (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))
        (unreachable)))
    (local.get $at))
  (func (export "{package}/lifecycle@0.1.0#configure") (param $ptr i32) (param $len i32) (result i32) {configure})
  {exports}
  {more}
)"#,
            configure = self.configure,
            more = self.more,
            pages = self.pages,
        )
    }

    /// The core module, with what says which world of the contract it is of.
    pub fn module(&self) -> Vec<u8> {
        let mut module = wat::parse_str(self.wat()).unwrap_or_else(|error| panic!("{error}\n{}", self.wat()));
        let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../guest-sdk/wit");
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_path(&wit).unwrap();
        let world = resolve.select_world(&[package], Some(self.world)).unwrap();
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
        module
    }

    /// The component, without a manifest.
    pub fn bare(&self) -> Vec<u8> {
        let mut encoder = ComponentEncoder::default();
        let encoder = encoder.module(&self.module()).unwrap().validate(true);
        encoder.encode().unwrap_or_else(|error| panic!("{error:?}"))
    }

    /// The manifest.
    pub fn manifest(&self) -> String {
        serde_json::json!({
            "name": self.name, "version": "1.2.3", "contract": self.contract, "wants": self.wants,
            "description": "made for a test",
        })
        .to_string()
    }

    /// The plugin.
    pub fn component(&self) -> Vec<u8> {
        with_section(self.bare(), "tailorbird.plugin", self.manifest().as_bytes())
    }
}

/// Plugins, loaded. Another number in their settings makes others of them.
pub fn set(guests: &[Guest], setting: u32) -> PluginSet {
    let folder = tempfile::tempdir().unwrap();
    let entry = |guest: &Guest| {
        let path = folder.path().join(format!("{}.wasm", guest.name));
        std::fs::write(&path, guest.component()).unwrap();
        let settings = [("setting".to_owned(), setting.into())].into_iter().collect();
        Entry { settings, ..Entry::trial(path) }
    };
    let configuration =
        Configuration { plugins: guests.iter().map(entry).collect(), ..Configuration::default() };
    PluginSet::load(&Sandbox::new(None).unwrap(), &configuration).unwrap()
}

/// A module or a component with one more custom section.
pub fn with_section(mut component: Vec<u8>, name: &str, data: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    leb(&mut body, name.len());
    body.extend(name.as_bytes());
    body.extend(data);
    component.push(0);
    leb(&mut component, body.len());
    component.extend(body);
    component
}

fn leb(out: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
