//! How times are taken and told, for whoever measures: the `bench` subcommands and the benches.

mod floor;
mod node;
mod resident;
mod stopwatch;
mod times;
mod turn;

pub use floor::Floor;
pub use node::{Calls, MeasuredNode, Step, StepError, assemble, template_alone};
pub use resident::Resident;
pub use stopwatch::Called;
pub use times::{Times, shown};
pub use turn::{Kind, Turn, Turns};
