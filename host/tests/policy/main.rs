//! What plugins make of a snapshot, with plugins that are plain functions.
//!
//! - `rules`, `advertise`, `peers`: what each answer does to the files, and what BIRD says of them;
//! - `daemon`: what a running BIRD does with the functions;
//! - `published`: what the view says of nodes and Services for plugins alone;
//! - `hostile`: answers that are no good;
//! - `failures`: what happens when a plugin fails, and afterwards;
//! - `work`: that the cost of a change follows the change;
//! - `property`: random histories and random plugins: asked incrementally = asked from scratch.

#![allow(clippy::unwrap_used)]

mod advertise;
#[path = "../behaviour/cluster.rs"]
#[allow(dead_code)]
mod cluster;
mod daemon;
mod failures;
mod hostile;
mod native;
mod peers;
mod property;
mod published;
mod rules;
#[path = "../support/mod.rs"]
mod support;
#[path = "../behaviour/universe.rs"]
#[allow(dead_code)]
mod universe;
mod work;
mod world;
