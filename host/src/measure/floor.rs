use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// What a disk alone takes for some files: each is written as a whole, synced and renamed. No program that puts files safely in
/// place can be faster, so times are compared with it, on the same disk and in the same run.
#[derive(Debug)]
pub struct Floor {
    folder: TempDir,
}

impl Floor {
    /// A floor on the disk of this folder, which must be there. It works in a folder of its own in it, which goes with it.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn on(folder: &Path) -> io::Result<Self> {
        Ok(Self { folder: tempfile::Builder::new().prefix(".floor-").tempdir_in(folder)? })
    }

    /// Writes these texts over those of the last time; returns how long that took.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn take<'a>(&self, texts: impl IntoIterator<Item = &'a [u8]>) -> io::Result<Duration> {
        let begun = Instant::now();
        for (nth, text) in texts.into_iter().enumerate() {
            let new = self.folder.path().join("new");
            let mut file = File::create(&new)?;
            file.write_all(text)?;
            file.sync_all()?;
            fs::rename(&new, self.folder.path().join(nth.to_string()))?;
        }
        Ok(begun.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_writes_the_texts_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let floor = Floor::on(folder.path()).unwrap();
        for texts in [["one", "two"], ["other", "texts"]] {
            let took = floor.take(texts.map(str::as_bytes)).unwrap();
            assert!(took > Duration::ZERO);
            let read = ["0", "1"].map(|name| fs::read_to_string(floor.folder.path().join(name)).unwrap());
            assert_eq!(read, texts);
        }
        drop(floor);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
