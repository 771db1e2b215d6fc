//! What a machine is called in a report.

use std::fs;

/// A machine, as far as it tells of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// How many processors this process may use.
    pub cores: usize,
    /// The kernel.
    pub kernel: String,
    /// The memory, in MiB.
    pub memory: u64,
    /// The load of the last 15 minutes.
    pub load: String,
}

impl Machine {
    /// This machine; what it does not tell is called unknown.
    pub fn this() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        Self::of(
            &read("/proc/cpuinfo"),
            &read("/proc/sys/kernel/osrelease"),
            &read("/proc/meminfo"),
            &read("/proc/loadavg"),
        )
    }

    fn of(cpuinfo: &str, kernel: &str, meminfo: &str, load: &str) -> Self {
        let known = |text: Option<&str>| {
            let text = text.map(str::trim).filter(|text| !text.is_empty());
            text.unwrap_or("unknown").to_owned()
        };
        let value = |text: &'static str| {
            move |line: &str| {
                line.split_once(':')
                    .filter(|(key, _)| key.trim() == text)
                    .map(|(_, value)| value.trim().to_owned())
            }
        };
        let cpu = cpuinfo.lines().find_map(value("model name"));
        let memory = meminfo.lines().find_map(value("MemTotal"));
        let memory = memory.and_then(|memory| memory.strip_suffix("kB")?.trim().parse::<u64>().ok());
        Self {
            cpu: known(cpu.as_deref()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: known(Some(kernel)),
            memory: memory.unwrap_or_default() >> 10,
            load: known(load.split_whitespace().nth(2)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_the_kernel_tells() {
        let machine = Machine::of(
            "processor\t: 0\nmodel name\t: A Processor @ 2 GHz\n",
            "6.1.0\n",
            "MemTotal:        8388608 kB\nMemFree: 1 kB\n",
            "0.10 0.20 0.30 1/100 12\n",
        );
        let told = (&*machine.cpu, &*machine.kernel, machine.memory, &*machine.load);
        assert_eq!(told, ("A Processor @ 2 GHz", "6.1.0", 8192, "0.30"));
        let silent = Machine::of("", "", "", "");
        assert_eq!(
            (&*silent.cpu, &*silent.kernel, silent.memory, &*silent.load),
            ("unknown", "unknown", 0, "unknown")
        );
    }
}
