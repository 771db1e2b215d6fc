//! The daemon as a process of its own: what it does when objects, files, BIRD and the disk do what they do.

#![allow(clippy::unwrap_used)]

#[path = "../cli/common.rs"]
#[allow(dead_code)]
mod common;
#[path = "../support/component.rs"]
#[allow(dead_code, unreachable_pub)]
mod component;

mod bird;
mod configuration;
mod disk;
mod explain;
mod fake;
mod guard;
mod http;
mod kill;
mod life;
mod objects;
mod real;
mod world;
