//! What wit-bindgen makes of the contract. One world for each interface, so that a plugin exports just those it has; the
//! encoder merges the worlds of a module and drops the imports that nothing calls.
//!
//! Public for [`crate::export!`] alone, which expands in another crate.

#![allow(missing_docs, unreachable_pub, unsafe_code, clippy::all)]

pub mod host {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package tailorbird:guest-host;
            world host {
                import tailorbird:policy/types@0.1.0;
                import tailorbird:policy/kv@0.1.0;
                import tailorbird:policy/log@0.1.0;
            }
        ",
        world: "tailorbird:guest-host/host",
        generate_unused_types: true,
        generate_all,
        additional_derives: [PartialEq],
    });
}

pub mod lifecycle {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package tailorbird:guest-lifecycle;
            world only-lifecycle {
                export tailorbird:policy/lifecycle@0.1.0;
            }
        ",
        world: "tailorbird:guest-lifecycle/only-lifecycle",
        generate_all,
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_lifecycle",
    });
}

pub mod peers {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package tailorbird:guest-peers;
            world only-peers {
                export tailorbird:policy/peers@0.1.0;
            }
        ",
        world: "tailorbird:guest-peers/only-peers",
        with: { "tailorbird:policy/types@0.1.0": crate::bindings::host::tailorbird::policy::types },
        generate_all,
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_peers",
    });
}

pub mod filter {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package tailorbird:guest-filter;
            world only-filter {
                export tailorbird:policy/filter@0.1.0;
            }
        ",
        world: "tailorbird:guest-filter/only-filter",
        with: { "tailorbird:policy/types@0.1.0": crate::bindings::host::tailorbird::policy::types },
        generate_all,
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_filter",
    });
}

pub mod functions {
    wit_bindgen::generate!({
        path: "wit",
        inline: "
            package tailorbird:guest-functions;
            world only-functions {
                export tailorbird:policy/functions@0.1.0;
            }
        ",
        world: "tailorbird:guest-functions/only-functions",
        generate_all,
        additional_derives: [PartialEq],
        pub_export_macro: true,
        export_macro_name: "export_functions",
    });
}
