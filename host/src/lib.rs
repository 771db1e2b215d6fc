//! Tailorbird renders BIRD's configuration from Calico's and Kubernetes' objects.
//!
//! The crate is layered, and each layer knows only those above it:
//!
//! - [`types`]: values that cannot be wrong (addresses, prefixes, AS numbers, communities, …);
//! - [`resources`]: the objects that users write, parsed into those types;
//! - [`manifest`]: files and folders of objects in YAML or JSON, read as a stream;
//! - [`engine`]: the pure core, which turns objects into an immutable, revisioned [`engine::Snapshot`];
//! - [`bird`]: what the core knows of BIRD's language, the daemon's own check of a file, and its control socket;
//! - [`policy`]: what plugins change about a snapshot;
//! - [`plugin`]: the sandbox that plugins run in, and the contract with them;
//! - [`render`]: template resources, template functions and fragments: a snapshot becomes text;
//! - [`pipeline`]: engine, plugins and templates of a node, put together;
//! - [`stage`]: text becomes files: staged, checked, and swapped as a set;
//! - [`delivery`]: which files go together, and what checks them;
//! - [`daemon`]: all of it together, for years;
//! - [`syncer`]: where objects come from;
//! - [`watch`]: notices that files changed;
//! - [`configuration`]: the operator's file;
//! - [`environment`]: what the environment of existing deployments says;
//! - [`explain`]: why a session or a route is there, or is not;
//! - [`generator`]: clusters to measure with;
//! - [`measure`]: how times are taken and told;
//! - [`cli`]: the command line.

mod allocator;
pub mod bird;
pub mod cli;
pub mod configuration;
pub mod daemon;
pub mod delivery;
pub mod engine;
pub mod environment;
pub mod explain;
pub mod generator;
pub mod manifest;
pub mod measure;
pub mod notice;
pub mod pipeline;
pub mod plugin;
pub mod policy;
mod regular;
pub mod render;
pub mod resources;
pub mod stage;
pub mod syncer;
pub mod types;
pub mod watch;
