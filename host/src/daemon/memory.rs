//! What the start needed and nothing else does goes back to the system.
//!
//! Reading the cluster takes far more of the program, and of the allocator's room, than following it.

use std::fs;
use std::ops::Range;

use rustix::mm::{Advice, madvise};

/// The allocator's option `purge_delay`, for which its library has no name: so many milliseconds it keeps what is free.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

/// Has the allocator keep nothing that is free. Where another one is in use it does nothing.
#[allow(unsafe_code)]
pub(super) fn keep_nothing() {
    // SAFETY: it only sets a number, which each thread reads when it frees something.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) }
}

/// Gives back what the allocator holds free, and of the program and its libraries what is not running. Nothing is lost: a
/// page that is needed again is still in the system's cache of files.
pub(super) fn give_back() {
    collect();
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    files_of_the_program(&maps).for_each(forget);
}

#[allow(unsafe_code)]
fn collect() {
    // SAFETY: it can be called at any time, from any thread.
    unsafe { libmimalloc_sys::mi_collect(true) }
}

/// Takes pages of files out of this process until they are looked at again.
#[allow(unsafe_code)]
fn forget(pages: Range<usize>) {
    let start = std::ptr::without_provenance_mut(pages.start);
    // SAFETY: these are pages of files that nothing of this process ever wrote to, so they come back as they were; and
    // they are the program's own and of the libraries that it was started with, which stay where they are as long as it lives.
    if let Err(error) = unsafe { madvise(start, pages.len(), Advice::LinuxDontNeed) } {
        tracing::debug!("pages of the program stay in memory: {error}");
    }
}

/// The mappings of the program and of the libraries that it was started with that were never written to: code, and what lies
/// at the beginning of each file. What lies behind the code may have been written to before it was protected.
fn files_of_the_program(maps: &str) -> impl Iterator<Item = Range<usize>> {
    let program = std::env::current_exe().ok();
    let program = program.as_deref().and_then(std::path::Path::to_str).unwrap_or_default().to_owned();
    maps.lines().filter_map(move |line| {
        let mut fields = line.split_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
        let (access, offset, file) = (fields.next()?, fields.next()?, fields.nth(2)?);
        let unwritten = access == "r-xp" || access == "r--p" && offset.bytes().all(|digit| digit == b'0');
        let of_program = file == program || file.starts_with('/') && file.contains(".so");
        (unwritten && of_program).then_some(range)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_never_written_to_is_given_back() {
        let program = std::env::current_exe().expect("this program");
        let program = program.display();
        let cases = [
            (format!("1000-3000 r-xp 00001000 00:1f 42 {program}"), true),
            (format!("1000-3000 r--p 00000000 00:1f 42 {program}"), true),
            ("1000-3000 r-xp 00001000 00:1f 42 /usr/lib/libc.so.6".to_owned(), true),
            // Behind the code is what the loader filled in.
            (format!("1000-3000 r--p 00001000 00:1f 42 {program}"), false),
            (format!("1000-3000 rw-p 00000000 00:1f 42 {program}"), false),
            (format!("1000-3000 rwxp 00000000 00:1f 42 {program}"), false),
            // A plugin's code, which may make room for something else.
            ("1000-3000 r-xp 00001000 00:1f 42 /var/cache/tailorbird/1-2.cwasm".to_owned(), false),
            ("1000-3000 r-xp 00000000 00:00 0".to_owned(), false),
            ("1000-3000 r-xp 00000000 00:00 0 [vdso]".to_owned(), false),
            ("nonsense".to_owned(), false),
        ];
        for (maps, expected) in cases {
            let found: Vec<_> = files_of_the_program(&maps).map(|pages| (pages.start, pages.end)).collect();
            assert_eq!(found, if expected { vec![(0x1000, 0x3000)] } else { vec![] }, "{maps}");
        }
    }

    #[test]
    fn a_program_whose_pages_were_given_back_runs_on() {
        let maps = fs::read_to_string("/proc/self/maps").expect("the mappings of this process");
        assert!(files_of_the_program(&maps).count() >= 2, "{maps}");
        give_back();
        give_back();
    }
}
