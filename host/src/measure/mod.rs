//! How times are taken and told, for whoever measures: the `bench` subcommands and the benches.

mod floor;
mod node;
mod resident;
mod stopwatch;
mod times;

pub use floor::Floor;
pub use node::{Calls, MeasuredNode, Step, StepError, assemble};
pub use resident::Resident;
pub use stopwatch::Called;
pub(crate) use times::nanoseconds;
pub use times::{Times, shown};
