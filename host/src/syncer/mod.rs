//! Where objects come from: one file for each datastore.

pub mod files;
