//! What the benches have in common: sizes, the default plugins, a node of a generated cluster, and how results come on the page.

pub mod machine;
pub mod page;
pub mod results;
pub mod scene;
