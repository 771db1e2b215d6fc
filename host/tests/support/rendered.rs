//! What is rendered of a snapshot.

use std::collections::BTreeMap;

use tailorbird::engine::Snapshot;
use tailorbird::render::{Renderer, built_in};
use tailorbird::types::Name;

/// Files by name.
pub type Files = BTreeMap<String, String>;

/// A renderer of the built-in set.
pub fn renderer(node: &Name) -> Renderer {
    Renderer::new(built_in(node).into_iter().map(Result::unwrap).collect())
}

/// All files of a snapshot, none of which may fail.
pub fn files(renderer: &mut Renderer, snapshot: &Snapshot) -> Files {
    let files = renderer.render(snapshot).files.into_iter().map(|file| {
        let file = file.unwrap_or_else(|error| panic!("{error}"));
        (file.dest.file_name().unwrap().to_str().unwrap().to_owned(), file.text.to_string())
    });
    files.collect()
}
