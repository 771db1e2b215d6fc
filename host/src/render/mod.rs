//! Template resources, template functions and fragments: a snapshot becomes text.
//!
//! A [`Resource`] is a TOML file with a Handlebars source, checked whole when it is loaded ([`load`],
//! [`built_in`]). A [`Renderer`] turns snapshots into [`RenderedFile`]s and keeps all text that cannot have
//! changed: the items of a collection are rendered one by one, and a file is a rope over blocks of their texts.
//!
//! Nothing reaches a BIRD file but typed values and single words: every `{{expression}}` passes a guard, and
//! whatever goes round the guard is refused when the template is loaded. `docs/templates.md` is the
//! documentation for authors.

mod apart;
mod blocks;
mod builtin;
mod compile;
mod error;
mod functions;
mod guard;
mod renderer;
mod resource;
mod shape;
mod slot;
mod source;
mod text;

pub use builtin::{BuiltInFile, built_in, built_in_files, export};
pub use error::{ExportError, RenderError, ResourceError};
pub use functions::{FUNCTIONS, FunctionInfo, PluginFunction, SharedCalls, plugin_functions};
pub use guard::MAX_FILE_BYTES;
pub use renderer::{RenderedFile, Renderer, Rendering, Stats};
pub use resource::{Format, Resource, load, load_with};
pub use text::Text;
