use serde::Deserialize;

/// What a plugin may use. Each has a default and a highest value; an operator's value above it is an error.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Fuel (about an instruction each) of a call; 10 million.
    pub fuel_per_call: u64,
    /// Further fuel for each item that a call hands over; 20,000.
    pub fuel_per_item: u64,
    /// Fuel of all calls of a rendering, to which that for items is added; 500 million.
    pub fuel_per_rendering: u64,
    /// Bytes of memory; 32 MiB, at most 256 MiB.
    pub memory: usize,
    /// Entries of a table; 20,000, which is also the most.
    pub table_elements: usize,
    /// Bytes that one call between guest and host may hand to the host, to which 256 for each item are added; 1 MiB.
    pub host_call_bytes: usize,
    /// Rows of a page of `kv.list`; 1000.
    pub list_page: u32,
    /// Bytes of a component; 10 MiB.
    pub component: usize,
    /// Seconds that compiling may take; 60.
    pub compile_seconds: u32,
    /// Bytes of a line of the log; 4 KiB. A longer one is cut.
    pub log_line: usize,
    /// Lines of the log in a second; 100. Further ones are dropped, and their number is told.
    pub log_lines_per_second: u32,
}

/// The most memory that an operator can allow a plugin.
pub const MAX_MEMORY: usize = 256 << 20;

/// The most entries that a table can have.
pub(super) const MAX_TABLE: usize = 20_000;

impl Default for Limits {
    fn default() -> Self {
        Self {
            fuel_per_call: 10_000_000,
            fuel_per_item: 20_000,
            fuel_per_rendering: 500_000_000,
            memory: 32 << 20,
            table_elements: MAX_TABLE,
            host_call_bytes: 1 << 20,
            list_page: 1000,
            component: 10 << 20,
            compile_seconds: 60,
            log_line: 4 << 10,
            log_lines_per_second: 100,
        }
    }
}

impl Limits {
    /// The first value that is out of its range, in words.
    pub fn fault(&self) -> Option<String> {
        let ranges = [
            ("fuel_per_call", self.fuel_per_call, 1, 100_000_000_000),
            ("fuel_per_item", self.fuel_per_item, 0, 1_000_000_000),
            ("fuel_per_rendering", self.fuel_per_rendering, 1, 1_000_000_000_000),
            ("memory", self.memory as u64, 64 << 10, MAX_MEMORY as u64),
            ("table_elements", self.table_elements as u64, 1, MAX_TABLE as u64),
            ("host_call_bytes", self.host_call_bytes as u64, 1024, 1 << 30),
            ("list_page", self.list_page.into(), 1, 1000),
            ("component", self.component as u64, 1, 64 << 20),
            ("compile_seconds", self.compile_seconds.into(), 1, 3600),
            ("log_line", self.log_line as u64, 1, 64 << 10),
            ("log_lines_per_second", self.log_lines_per_second.into(), 0, 10_000),
        ];
        ranges
            .into_iter()
            .find(|(_, value, min, max)| !(min..=max).contains(&value))
            .map(|(name, value, min, max)| format!("limits.{name} = {value}: must be {min} to {max}"))
    }

    /// The fuel of a call that hands over some items.
    pub(super) fn fuel(&self, items: usize) -> u64 {
        self.fuel_per_call.saturating_add(self.fuel_per_item.saturating_mul(items as u64))
    }
}
