//! What the benches leave behind: Criterion's estimates, and results of those that are no Criterion suites.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One result of a bench that is no Criterion suite.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// What was measured.
    pub what: String,
    /// The size of the cluster, in nodes.
    pub size: u32,
    /// Nanoseconds, or bytes.
    pub value: f64,
}

/// Criterion's estimate of one benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The group.
    pub group: String,
    /// The benchmark, as far as it is no size.
    pub what: String,
    /// The size behind the last slash of the benchmark's name; 0 if there is none.
    pub size: u32,
    /// The median, in nanoseconds.
    pub median: f64,
    /// The width of the median's 95 % interval, as part of the median.
    pub spread: f64,
}

/// The folder in which benches leave results: `bench` in Cargo's target folder.
pub fn folder() -> PathBuf {
    // A bench is target/release/deps/NAME, a program target/release/NAME. Cargo tags the folder only when it makes it itself.
    let program = std::env::current_exe().unwrap_or_default();
    let marks = [".rustc_info.json", "CACHEDIR.TAG"];
    let target = program.ancestors().find(|folder| marks.iter().any(|mark| folder.join(mark).is_file()));
    target.unwrap_or(Path::new("target")).join("bench")
}

/// Writes the results of a suite, in the place of those before.
///
/// # Errors
/// The file cannot be written.
pub fn write(suite: &str, results: &[Measured]) -> io::Result<()> {
    fs::create_dir_all(folder())?;
    fs::write(folder().join(format!("{suite}.json")), serde_json::to_vec_pretty(results)?)
}

/// Reads the results of a suite; none if it was not run.
///
/// # Errors
/// The file is there and cannot be read.
pub fn read(folder: &Path, suite: &str) -> io::Result<Vec<Measured>> {
    match fs::read(folder.join(format!("{suite}.json"))) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[derive(Deserialize)]
struct Benchmark {
    group_id: String,
    function_id: Option<String>,
    value_str: Option<String>,
}

#[derive(Deserialize)]
struct Estimates {
    median: Median,
}

#[derive(Deserialize)]
struct Median {
    point_estimate: f64,
    confidence_interval: Interval,
}

#[derive(Deserialize)]
struct Interval {
    lower_bound: f64,
    upper_bound: f64,
}

/// Reads Criterion's last estimates, by group, benchmark and size.
///
/// # Errors
/// A file of Criterion's cannot be read.
pub fn estimates(criterion: &Path) -> io::Result<Vec<Estimate>> {
    let mut found = Vec::new();
    let mut folders = vec![criterion.to_owned()];
    while let Some(folder) = folders.pop() {
        if folder.ends_with("new") {
            found.extend(estimate(&folder)?);
            continue;
        }
        let Ok(entries) = folder.read_dir() else { continue };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() && !path.ends_with("report") && !path.ends_with("base") {
                folders.push(path);
            }
        }
    }
    found.sort_by(|a, b| (&a.group, &a.what, a.size).cmp(&(&b.group, &b.what, b.size)));
    Ok(found)
}

fn estimate(folder: &Path) -> io::Result<Option<Estimate>> {
    let (Ok(benchmark), Ok(estimates)) =
        (fs::read(folder.join("benchmark.json")), fs::read(folder.join("estimates.json")))
    else {
        return Ok(None);
    };
    let benchmark: Benchmark = serde_json::from_slice(&benchmark)?;
    let Estimates { median } = serde_json::from_slice(&estimates)?;
    let name = benchmark.function_id.or(benchmark.value_str).unwrap_or_default();
    let (what, size) = match name.rsplit_once('/') {
        Some((what, size)) => (what.to_owned(), size.parse().unwrap_or(0)),
        None => match name.parse() {
            Ok(size) => (String::new(), size),
            Err(_) => (name, 0),
        },
    };
    let Interval { lower_bound, upper_bound } = median.confidence_interval;
    let spread = (upper_bound - lower_bound) / median.point_estimate.max(f64::MIN_POSITIVE);
    Ok(Some(Estimate { group: benchmark.group_id, what, size, median: median.point_estimate, spread }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn put(folder: &Path, group: &str, name: &str, median: f64) {
        let new = folder.join(group).join(name.replace('/', "_")).join("new");
        fs::create_dir_all(&new).unwrap();
        let benchmark = serde_json::json!({"group_id": group, "function_id": name, "value_str": null, "throughput": null});
        let interval = serde_json::json!({"confidence_level": 0.95, "lower_bound": median * 0.9, "upper_bound": median * 1.2});
        let estimates = serde_json::json!({"median": {"confidence_interval": interval, "point_estimate": median, "standard_error": 1.0}});
        fs::write(new.join("benchmark.json"), benchmark.to_string()).unwrap();
        fs::write(new.join("estimates.json"), estimates.to_string()).unwrap();
    }

    #[test]
    fn estimates_of_criterion_are_read() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "cold", "5000", 2.0);
        put(folder.path(), "change", "burst of 10/500", 3.0);
        fs::create_dir_all(folder.path().join("report")).unwrap();
        let read = estimates(folder.path()).unwrap();
        let told: Vec<_> = read.iter().map(|e| (&*e.group, &*e.what, e.size, e.median)).collect();
        assert_eq!(told, [("change", "burst of 10", 500, 3.0), ("cold", "", 5000, 2.0)]);
        assert!((read[0].spread - 0.3).abs() < 1e-9);
        assert_eq!(estimates(&folder.path().join("nowhere")).unwrap(), []);
    }

    #[test]
    fn a_suite_that_was_not_run_has_no_results() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(super::read(folder.path(), "stage").unwrap(), []);
        fs::write(folder.path().join("stage.json"), "{").unwrap();
        assert!(super::read(folder.path(), "stage").is_err());
    }
}
