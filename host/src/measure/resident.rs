use std::fs;
use std::io;

use crate::allocator;

/// The memory of this process, in bytes, as the kernel counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resident {
    /// What is resident now.
    pub now: u64,
    /// What of it is of no file.
    pub anonymous: u64,
    /// The most that was resident so far.
    pub peak: u64,
}

impl Resident {
    /// Reads all of it.
    ///
    /// # Errors
    /// The kernel does not tell: this is no Linux, or `/proc` is not there.
    pub fn read() -> io::Result<Self> {
        let text = fs::read_to_string("/proc/self/status")?;
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.trim().strip_suffix("kB"));
            let value = value.and_then(|value| value.trim().parse::<u64>().ok());
            value.map(|kibibytes| kibibytes << 10).ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("/proc/self/status has no number for {name}"),
                )
            })
        };
        Ok(Self { now: field("VmRSS:")?, anonymous: field("RssAnon:")?, peak: field("VmHWM:")? })
    }

    /// Reads it once the allocator has given back what is free of this thread, as the daemon has it do when it rests.
    ///
    /// # Errors
    /// As [`Resident::read`].
    pub fn settled() -> io::Result<Self> {
        allocator::give_back();
        Self::read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_held_is_resident() {
        let held = std::hint::black_box(vec![1_u8; 64 << 20]);
        let Resident { now, anonymous, peak } = Resident::read().unwrap();
        let size = held.len() as u64;
        assert!(size <= anonymous && anonymous <= now && now <= peak, "{size} {anonymous} {now} {peak}");
        drop(held);
    }
}
