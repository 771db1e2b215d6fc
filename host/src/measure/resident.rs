use std::fs;
use std::io;
use std::time::Duration;

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

    /// Reads it once the allocator has given back what was needed for a moment: it waits some milliseconds before, and for
    /// somebody who asks for memory.
    ///
    /// # Errors
    /// As [`Resident::read`].
    pub fn settled() -> io::Result<Self> {
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(5));
            drop(std::hint::black_box(vec![0_u8; 1 << 20]));
        }
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
