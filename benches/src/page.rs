//! The page on performance, made of results: tables, charts and what is to be known of both.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use plotters::prelude::*;
use tailorbird::measure::shown;

use crate::machine::Machine;
use crate::results::{Estimate, Measured};

/// All results of a run.
#[derive(Debug, Default)]
pub struct Results {
    /// Criterion's estimates.
    pub estimates: Vec<Estimate>,
    /// Files in place against the disk alone.
    pub stage: Vec<Measured>,
    /// Memory.
    pub memory: Vec<Measured>,
}

/// A line of a chart: its name, and a value for each size.
type Line = (String, Vec<(u32, f64)>);

impl Results {
    /// The values of a benchmark by size.
    fn line(&self, group: &str, what: &str) -> Vec<(u32, f64)> {
        let found = self.estimates.iter().filter(|estimate| estimate.group == group && estimate.what == what);
        found.map(|estimate| (estimate.size, estimate.median)).collect()
    }

    /// The benchmarks of a group, each once, in their order.
    fn whats(&self, group: &str) -> Vec<&str> {
        let mut whats: Vec<&str> = Vec::new();
        for estimate in self.estimates.iter().filter(|estimate| estimate.group == group) {
            if !whats.contains(&&*estimate.what) {
                whats.push(&estimate.what);
            }
        }
        whats
    }

    /// The lines of a group, one for each benchmark that has a size.
    fn lines(&self, group: &str) -> Vec<Line> {
        let sized = |what: &&str| self.line(group, what).iter().any(|(size, _)| *size > 0);
        self.whats(group)
            .into_iter()
            .filter(sized)
            .map(|what| (what.to_owned(), self.line(group, what)))
            .collect()
    }
}

fn of(measured: &[Measured], what: &str) -> Vec<(u32, f64)> {
    measured.iter().filter(|one| one.what == what).map(|one| (one.size, one.value)).collect()
}

fn time(nanoseconds: f64) -> String {
    shown(Duration::from_nanos(nanoseconds as u64))
}

/// The page, and charts in a folder beside it.
///
/// # Errors
/// Nothing was measured, or a file cannot be written.
pub fn write(results: &Results, machine: &Machine, page: &Path) -> Result<()> {
    if results.estimates.is_empty() {
        return Err(anyhow!("there are no results of Criterion: run the benches first"));
    }
    let charts = page.with_extension("");
    std::fs::create_dir_all(&charts).with_context(|| charts.display().to_string())?;
    let name = charts.file_name().and_then(|name| name.to_str()).context("the page has a name")?.to_owned();
    let mut text = head(results, machine);
    let chart = |file: &str, title: &str, unit: Unit, lines: &[Line], text: &mut String| -> Result<()> {
        let lines: Vec<Line> = lines.iter().filter(|(_, points)| points.len() > 1).cloned().collect();
        if lines.is_empty() {
            return Ok(());
        }
        draw(&charts.join(file), title, unit, &lines).with_context(|| file.to_owned())?;
        let _ = writeln!(text, "![{title}]({name}/{file})\n");
        Ok(())
    };

    text.push_str("## From nothing\n\nFrom parsed objects in memory to the texts of the six files.\n\n");
    let cold: Vec<Line> = ["without plugins", "with plugins"]
        .into_iter()
        .map(|with| (with.to_owned(), results.line(&format!("cold, {with}"), "")))
        .collect();
    text.push_str(&table("", &cold, time));
    chart("cold.svg", "From nothing, by the number of nodes", Unit::Time, &cold, &mut text)?;

    text.push_str(
        "## One change, and bursts\n\nFrom events to the texts of the six files: the engine, what plugins change, the templates. A change of the\n\
         configuration touches every session, and one of the templates or of a plugin's settings everything that they made; so does that of\n\
         the mesh's password (`secret`). All others cost the same at every size, but for the work of looking things up, and with plugins for\n\
         one thing: which peerings there are to be is a question about all nodes and candidates at once, so what changes one of those has\n\
         the plugin told of all again.\n\n",
    );
    for (with, file) in [("without plugins", "change.svg"), ("with plugins", "change-with-plugins.svg")] {
        let lines = results.lines(&format!("change, {with}"));
        if !lines.is_empty() {
            let title = format!("One change, {with}, by the number of nodes");
            let _ = writeln!(text, "### {}\n", title_case(with));
            text.push_str(&table("", &lines, time));
            let singles: Vec<Line> =
                lines.into_iter().filter(|(what, _)| !what.starts_with("burst")).collect();
            chart(file, &title, Unit::Time, &singles, &mut text)?;
        }
    }

    if let Some((_, median)) = results.line("selectors", "node label, 999 selectors").first() {
        let _ = writeln!(
            text,
            "A label that takes a node from one of 999 selectors to another, each of a rack's peers: {}.\n",
            time(*median)
        );
    }

    if !results.stage.is_empty() {
        text.push_str(
            "## Files in place\n\nOne node's addresses have changed. The floor is what the disk alone takes for the same bytes: written, synced and renamed, by turns\n\
             with the other side, on the same disk in the same run.\n\n",
        );
        let floor = of(&results.stage, "floor");
        let swap = of(&results.stage, "stage and swap");
        let check = of(&results.stage, "check");
        let ratio = swap
            .iter()
            .zip(&floor)
            .map(|((size, swap), (_, floor))| (*size, swap / floor))
            .collect::<Vec<_>>();
        let sizes = table("", &[("bytes of both files".to_owned(), of(&results.stage, "bytes"))], |bytes| {
            format!("{bytes:.0}")
        });
        // Further rows follow, of another unit.
        text.push_str(sizes.trim_end());
        text.push('\n');
        let mut lines: Vec<Line> =
            vec![("floor: the disk alone".to_owned(), floor), ("stage and swap".to_owned(), swap)];
        if check.iter().any(|(_, time)| *time > 0.0) {
            lines.push(("BIRD's check of both".to_owned(), check));
        }
        text.push_str(&rows(&lines, time));
        text.push_str(&rows(&[("stage and swap, of the floor".to_owned(), ratio)], |ratio| {
            format!("{ratio:.2} x")
        }));
        text.push('\n');
        chart(
            "files.svg",
            "Files in place against the disk alone, by the number of nodes",
            Unit::Time,
            &lines,
            &mut text,
        )?;
    }

    let assemble = results.lines("assemble");
    if !assemble.is_empty() {
        text.push_str("## Files as one text\n\nThe pieces of a file put together, beside a plain copy of the same bytes. Files are written piece by piece, so nobody needs that.\n\n");
        text.push_str(&table("", &assemble, time));
    }

    if !results.memory.is_empty() {
        text.push_str("## Memory\n\nWhat is resident once the allocator has given back what is free, as the daemon has it do when it rests: what the engine adds, and then the first rendering, whose texts are kept for the next one. Pages of the program that ran for it count too, a MiB or two at any size. Each size is a process of its own.\n\n");
        let bytes = |bytes: f64| format!("{:.1} MiB", bytes / f64::from(1 << 20));
        let engine = of(&results.memory, "engine");
        let lines: Vec<Line> = vec![
            ("engine".to_owned(), engine.clone()),
            ("texts and what is kept".to_owned(), of(&results.memory, "texts")),
            ("peak of the process".to_owned(), of(&results.memory, "peak")),
        ];
        text.push_str(&table("", &lines, bytes));
        let each: Vec<_> = engine.iter().map(|(size, bytes)| (*size, bytes / f64::from(*size))).collect();
        let text_before = text.trim_end().len();
        text.truncate(text_before);
        text.push('\n');
        text.push_str(&rows(&[("engine, a node".to_owned(), each)], |bytes| {
            format!("{:.2} KiB", bytes / 1024.0)
        }));
        text.push('\n');
        chart("memory.svg", "Memory, by the number of nodes", Unit::Bytes, &lines, &mut text)?;
    }

    let calls = results.lines("plugin calls, all items");
    if !calls.is_empty() {
        text.push_str("## Calls\n\nA plugin that answers nothing, asked once about so many peerings, routes or sessions; its instance is made by the first call of a rendering.\n\n");
        text.push_str(&table("", &calls, time));
        text.push_str("One function of a plugin with a list of so many texts:\n\n");
        text.push_str(&table("", &results.lines("plugin calls, one function"), time));
    }
    let group = "template functions, a hundred calls";
    if !results.whats(group).is_empty() {
        text.push_str("A hundred calls of a function of templates, with the rendering of the file around them:\n\n| function | time |\n|---|---|\n");
        for what in results.whats(group) {
            let median = results.line(group, what).first().map_or(0.0, |(_, median)| *median);
            let _ = writeln!(text, "| {what} | {} |", time(median));
        }
        text.push('\n');
    }
    let text = format!("{}\n", text.trim_end());
    std::fs::write(page, text).with_context(|| page.display().to_string())
}

fn title_case(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

fn head(results: &Results, machine: &Machine) -> String {
    let wide = results.estimates.iter().filter(|estimate| estimate.spread > 0.1).count();
    let widest = results.estimates.iter().map(|estimate| estimate.spread).fold(0.0, f64::max);
    format!(
        "# Performance\n\n\
         This page is made by `make bench`, from what it measures. All is about node 0 of a generated cluster: a full mesh with both\n\
         families, two Services a node with three slices each, ten peers outside. `tailorbird bench render --objects DUMP --node NAME`\n\
         measures the same on a cluster of your own, and `bench change`, `bench plugins` and `bench memory` the rest.\n\n\
         | | |\n|---|---|\n\
         | processor | {}, of which {} cores can be used |\n| memory | {} MiB |\n| kernel | Linux {} |\n| load when the page was made (15 minutes) | {} |\n\n\
         Times are medians. Of {} Criterion estimates, {wide} have a 95 % interval that is wider than a tenth of the median, the widest\n\
         {:.0} %: differences smaller than that mean nothing on this machine. Compare numbers of one page with each other, ratios of one\n\
         run before all; numbers of two machines or two days say little. That the cost of a change does not grow with the cluster is not\n\
         proved here, but by counted work in the tests (`host/tests/counted_work.rs`), on any machine.\n\n",
        machine.cpu,
        machine.cores,
        machine.memory,
        machine.kernel,
        machine.load,
        results.estimates.len(),
        widest * 100.0,
    )
}

/// A table with a column for each size.
fn table(corner: &str, lines: &[Line], show: impl Fn(f64) -> String) -> String {
    let Some((_, first)) = lines.iter().max_by_key(|(_, points)| points.len()) else { return String::new() };
    let mut text = format!("| {corner} |");
    for (size, _) in first {
        let _ = write!(text, " {size} |");
    }
    text.push_str("\n|---|");
    text.push_str(&"---|".repeat(first.len()));
    text.push('\n');
    text.push_str(&rows(lines, show));
    text.push('\n');
    text
}

/// Rows with a column for each size of the longest line; a size that was not measured stays empty.
fn rows(lines: &[Line], show: impl Fn(f64) -> String) -> String {
    let Some((_, longest)) = lines.iter().max_by_key(|(_, points)| points.len()) else {
        return String::new();
    };
    let mut text = String::new();
    for (name, points) in lines.iter().filter(|(_, points)| !points.is_empty()) {
        let _ = write!(text, "| {name} |");
        for (size, _) in longest {
            let value = points.iter().find(|(other, _)| other == size).map(|(_, value)| show(*value));
            let _ = write!(text, " {} |", value.unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

#[derive(Clone, Copy)]
enum Unit {
    Time,
    Bytes,
}

/// Draws lines over sizes, both on logarithmic scales.
fn draw(path: &Path, title: &str, unit: Unit, lines: &[Line]) -> Result<()> {
    let points =
        || lines.iter().flat_map(|(_, points)| points).filter(|(size, value)| *size > 0 && *value > 0.0);
    let bounds =
        points().fold((f64::MAX, 0.0_f64, u32::MAX, 0), |(low, high, first, last), (size, value)| {
            (low.min(*value), high.max(*value), first.min(*size), last.max(*size))
        });
    let (low, high, first, last) = bounds;
    let root = SVGBackend::new(path, (860, 480)).into_drawing_area();
    let failed = |error: &dyn std::fmt::Display| anyhow!("the chart cannot be drawn: {error}");
    root.fill(&WHITE).map_err(|error| failed(&error))?;
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(80)
        .build_cartesian_2d(
            (f64::from(first) * 0.9..f64::from(last) * 1.1).log_scale(),
            (low * 0.7..high * 1.5).log_scale(),
        )
        .map_err(|error| failed(&error))?;
    let label = |value: &f64| match unit {
        Unit::Time => time(*value),
        Unit::Bytes => format!("{:.1} MiB", value / f64::from(1 << 20)),
    };
    chart
        .configure_mesh()
        .x_desc("nodes")
        .x_label_formatter(&|size| format!("{size:.0}"))
        .y_label_formatter(&label)
        .light_line_style(WHITE.mix(0.0))
        .draw()
        .map_err(|error| failed(&error))?;
    for (nth, (name, points)) in lines.iter().enumerate() {
        let colour = Palette99::pick(nth).to_rgba();
        let points: Vec<(f64, f64)> = points
            .iter()
            .filter(|(_, value)| *value > 0.0)
            .map(|(size, value)| (f64::from(*size), *value))
            .collect();
        chart
            .draw_series(LineSeries::new(points.clone(), colour.stroke_width(2)).point_size(3))
            .map_err(|error| failed(&error))?
            .label(name)
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.2))
        .draw()
        .map_err(|error| failed(&error))?;
    root.present().map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn machine() -> Machine {
        Machine {
            cpu: "A Processor".into(),
            cores: 2,
            kernel: "6.1".into(),
            memory: 4096,
            load: "0.10".into(),
        }
    }

    fn estimate(group: &str, what: &str, size: u32, median: f64) -> Estimate {
        Estimate { group: group.into(), what: what.into(), size, median, spread: 0.2 }
    }

    #[test]
    fn the_page_tells_what_was_measured() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("performance.md");
        let measured = |what: &str, size, value| Measured { what: what.into(), size, value };
        let results = Results {
            estimates: vec![
                estimate("cold, without plugins", "", 100, 5e6),
                estimate("cold, without plugins", "", 1000, 5e7),
                estimate("change, without plugins", "slice", 100, 5e3),
                estimate("change, without plugins", "slice", 1000, 5.5e3),
                estimate("template functions, a hundred calls", "lower", 0, 1e4),
            ],
            stage: vec![
                measured("floor", 100, 1e6),
                measured("stage and swap", 100, 2.5e6),
                measured("bytes", 100, 77.0),
            ],
            memory: vec![measured("engine", 100, 409_600.0), measured("engine", 1000, 4_096_000.0)],
        };
        write(&results, &machine(), &page).unwrap();
        let text = std::fs::read_to_string(&page).unwrap();
        for words in [
            "| processor | A Processor, of which 2 cores can be used |",
            "Of 5 Criterion estimates, 5 have",
            "|  | 100 | 1000 |\n|---|---|---|\n| without plugins | 5.00 ms | 50.0 ms |",
            "| slice | 5.00 µs | 5.50 µs |",
            "| stage and swap, of the floor | 2.50 x |",
            "| engine, a node | 4.00 KiB | 4.00 KiB |",
            "| lower | 10.0 µs |",
            "(performance/cold.svg)",
        ] {
            assert!(text.contains(words), "`{words}` is not in:\n{text}");
        }
        assert!(!text.contains("with plugins |"), "what was not measured is not told:\n{text}");
        let chart = std::fs::read_to_string(folder.path().join("performance/cold.svg")).unwrap();
        assert!(chart.starts_with("<svg") && chart.contains("From nothing, by the number of nodes"));
        assert!(!folder.path().join("performance/files.svg").exists(), "one size makes no line");
    }

    #[test]
    fn without_results_there_is_no_page() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("performance.md");
        assert!(write(&Results::default(), &machine(), &page).is_err());
        assert!(!page.exists());
    }
}
