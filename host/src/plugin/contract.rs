//! The contract of `guest-sdk/wit` as types.

#[allow(missing_docs, unreachable_pub, clippy::all, unsafe_code)]
mod bindings {
    wasmtime::component::bindgen!({
        path: "../guest-sdk/wit",
        world: "plugin",
        imports: { default: trappable },
        additional_derives: [PartialEq, Eq],
    });
}

pub use bindings::exports::tailorbird::policy::{filter, functions, lifecycle, peers};
pub use bindings::tailorbird::policy::{kv, log, types};
