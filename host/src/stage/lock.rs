use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::StageError;
use super::ops::{Operation, failed};

const PAUSE: Duration = Duration::from_millis(10);

/// An advisory lock (`flock`) on a directory, held until it is dropped, or until the process ends.
#[derive(Debug)]
pub(super) struct Lock {
    directory: File,
}

impl Lock {
    /// Takes the lock if nobody has it.
    pub(super) fn attempt(path: &Path) -> Result<Option<Self>, StageError> {
        let directory = File::open(path).map_err(failed(Operation::Lock, path))?;
        match directory.try_lock() {
            Ok(()) => Ok(Some(Self { directory })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(Operation::Lock, path)(error)),
        }
    }

    /// Takes the lock, waiting no longer than this.
    pub(super) fn wait(path: &Path, wait: Duration) -> Result<Self, StageError> {
        let begin = Instant::now();
        loop {
            if let Some(lock) = Self::attempt(path)? {
                return Ok(lock);
            }
            if begin.elapsed() >= wait {
                return Err(StageError::Locked { path: path.to_owned(), waited: wait });
            }
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Lock {
    /// Unlocks in so many words: a child process that is just being started has the same open file for a moment, and
    /// would keep the lock.
    fn drop(&mut self) {
        // Closing the file does it too, only later.
        let _ = self.directory.unlock();
    }
}
