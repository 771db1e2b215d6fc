//! WebAssembly plugins: what loads, limits and calls them.

pub mod contract;
