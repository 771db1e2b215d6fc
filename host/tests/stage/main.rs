//! Staging and swapping through the public interface.

mod basics;
mod checks;
mod common;
mod crash;
mod failures;
mod traced;
