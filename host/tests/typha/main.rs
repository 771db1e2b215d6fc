//! Typha as a source, against a server of the tests' own that says what it is told to say. `host/tests/kubernetes` has the
//! real one.

#![allow(clippy::unwrap_used)]

mod fake;
mod faults;
mod following;
