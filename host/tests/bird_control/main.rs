//! The client of BIRD's control socket: against a scripted server for what a BIRD cannot be made to do, and against real
//! daemons. Those of a version run when the environment names their folder: `TAILORBIRD_BIRD1` (with `bird6` beside
//! `bird`), `TAILORBIRD_BIRD2`, `TAILORBIRD_BIRD3`.
#![allow(clippy::unwrap_used)]

mod answers;
mod cli;
mod daemon;
mod fake;
mod faults;
mod mark;
mod real;
mod reloads;
mod replies;
