//! Why something is there or is not: objects in, a question, an answer that names the object and the rule.
//!
//! - `peers`, `routes`, `names`: what each answer says, situation by situation;
//! - `plugins`: what is said of what plugins change;
//! - `walk`: over every conformance case: all that is rendered is explained, and what is absent has a reason.

#![allow(clippy::unwrap_used)]

mod asked;
#[path = "../behaviour/cluster.rs"]
#[allow(dead_code)]
mod cluster;
mod names;
#[path = "../policy/native.rs"]
#[allow(dead_code)]
mod native;
mod peers;
mod plugins;
mod routes;
#[path = "../support/mod.rs"]
mod support;
mod walk;
