//! The client of BIRD's control socket, for BIRD 1.6, 2 and 3.
//!
//! It is made of a pure parser ([`reply`]), typed answers ([`Status`], [`Protocol`], [`Refusal`]) and a connection
//! ([`Control`]) that blocks, each time for a bounded time. [`Look`] and [`reload()`] put these together.

mod connection;
mod error;
mod file;
mod look;
mod mark;
mod protocol;
mod refusal;
mod reload;
pub mod reply;
mod status;

pub use connection::{Configured, Control, Full, ReadOnly};
pub use error::{ControlError, Fault};
pub use file::{ConfigFile, PathError};
pub use look::Look;
pub use mark::Mark;
pub use protocol::{Bgp, BgpState, Channel, Neighbor, Protocol, ProtocolState, Routes};
pub use refusal::{Place, Refusal};
pub use reload::{NotInForce, Reload, Reloaded, UndoneBy, reload, reload_confirmed};
pub use status::{State, Status};
