//! What wit-bindgen makes of the contract (`tests/contract.rs` makes it again, and compares). One world for each interface,
//! so that a plugin exports just those it has; the encoder merges the worlds of a module and drops the imports that nothing
//! calls.
//!
//! Public for [`crate::export!`] alone, which expands in another crate.

#![allow(missing_docs, unreachable_pub, unsafe_code, clippy::all)]

pub mod host {
    include!("host.rs");
}

pub mod lifecycle {
    include!("lifecycle.rs");
}

pub mod peers {
    include!("peers.rs");
}

pub mod filter {
    include!("filter.rs");
}

pub mod functions {
    include!("functions.rs");
}
