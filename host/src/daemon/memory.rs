//! What the start needed and nothing else does goes back to the system.
//!
//! Reading the cluster takes far more of the program, and of the allocator's room, than following it.

use std::ffi::OsStr;
use std::fs;
use std::ops::Range;
use std::path::Path;

use rustix::mm::{Advice, madvise};

use crate::allocator;

/// Gives back what the allocator holds free for this thread, and the pages of the program and of its libraries, of which those
/// that run come again at once. Nothing is lost: they are in the system's cache of files, or else in the files. Returns how
/// much of files went, in bytes.
pub(super) fn give_back() -> usize {
    allocator::give_back();
    let maps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    files_of_the_program(&maps).filter_map(forget).sum()
}

/// Takes pages of files out of this process until they are looked at again; returns how much that is.
#[allow(unsafe_code)]
fn forget(pages: Range<usize>) -> Option<usize> {
    let start = std::ptr::without_provenance_mut(pages.start);
    // SAFETY: these are pages of files that nothing of this process can write to or ever wrote to, so they come back as they
    // were; and they are the program's own and of the libraries that it was started with, which stay where they are as long
    // as it lives.
    match unsafe { madvise(start, pages.len(), Advice::LinuxDontNeed) } {
        Ok(()) => Some(pages.len()),
        Err(error) => {
            tracing::debug!("pages of the program stay in memory: {error}");
            None
        }
    }
}

/// The mappings of the program and of the libraries that it was started with that cannot be written to and never were: no
/// page of theirs differs from the file. Those that the loader filled in and protected afterwards have such pages.
fn files_of_the_program(maps: &str) -> impl Iterator<Item = Range<usize>> {
    let program = std::env::current_exe().unwrap_or_default();
    let mut last = None;
    maps.lines().filter_map(move |line| {
        if let Some(pages) = line.strip_prefix("Anonymous:") {
            let pages = pages.split_whitespace().next();
            return last.take().filter(|_| pages == Some("0"));
        }
        let mut fields = line.split_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
        let (access, file) = (fields.next()?, Path::new(fields.nth(3).unwrap_or_default()));
        let name = file.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let is_library = name.ends_with(".so") || name.contains(".so.");
        last = (matches!(access, "r-xp" | "r--p") && (file == program || is_library)).then_some(range);
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_never_written_to_is_given_back() {
        let program = std::env::current_exe().expect("this program");
        let program = program.to_str().expect("its path");
        let cases = [
            ("r-xp", program, 0, true),
            ("r--p", program, 0, true),
            ("r-xp", "/usr/lib/libc.so.6", 0, true),
            ("r--p", "/usr/lib/libm.so", 0, true),
            // What the loader filled in.
            ("r--p", program, 844, false),
            ("rw-p", program, 0, false),
            ("rwxp", program, 0, false),
            // A plugin's code, which may make room for something else.
            ("r-xp", "/var/cache/a.so.b/1-2.cwasm", 0, false),
            ("r-xp", "", 0, false),
            ("r-xp", "[vdso]", 0, false),
        ];
        for (access, file, written, expected) in cases {
            let maps = format!(
                "1000-3000 {access} 00000000 00:1f 42 {file}\nRss: 8 kB\nAnonymous: {written} kB\nAnonHugePages: 0 kB"
            );
            let found: Vec<_> = files_of_the_program(&maps).map(|pages| (pages.start, pages.end)).collect();
            assert_eq!(found, if expected { vec![(0x1000, 0x3000)] } else { vec![] }, "{maps}");
        }
    }

    #[test]
    fn a_program_whose_pages_were_given_back_runs_on() {
        let megabyte = 1 << 20;
        assert!(give_back() > megabyte);
        assert!(give_back() > megabyte);
    }
}
