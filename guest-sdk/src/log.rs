//! Words for the operator.
//!
//! The host cuts a line at 4 KiB, and drops lines when there are too many. In native tests, lines are kept for
//! [`testing::take_log`](crate::testing::take_log).

pub use crate::bindings::host::tailorbird::policy::log::Level;

/// Logs a line for those who look for a fault.
pub fn debug(message: &str) {
    log(Level::Debug, message);
}

/// Logs a line that is good to know.
pub fn info(message: &str) {
    log(Level::Info, message);
}

/// Logs a line that the operator should look at.
pub fn warn(message: &str) {
    log(Level::Warn, message);
}

/// Logs a line that the operator must look at.
pub fn error(message: &str) {
    log(Level::Error, message);
}

/// Logs a line.
pub fn log(level: Level, message: &str) {
    #[cfg(target_arch = "wasm32")]
    crate::bindings::host::tailorbird::policy::log::log(level, message);
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::keep_log(level, message);
}
