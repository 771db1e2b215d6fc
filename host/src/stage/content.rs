use std::sync::Arc;

/// Text that is to become a file, in pieces: a large file need not stand in memory as one string.
pub trait Content {
    /// The length in bytes: the sum of the lengths of the chunks.
    fn len(&self) -> u64;

    /// The text, in order. Each call begins anew and gives the same text.
    fn chunks(&self) -> Box<dyn Iterator<Item = &str> + '_>;

    /// Whether there is no text.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

macro_rules! one_chunk {
    ($($kind:ty),*) => {$(
        impl Content for $kind {
            fn len(&self) -> u64 {
                str::len(self) as u64
            }

            fn chunks(&self) -> Box<dyn Iterator<Item = &str> + '_> {
                Box::new(std::iter::once::<&str>(self))
            }
        }
    )*};
}

one_chunk!(&str, String, Arc<str>);
