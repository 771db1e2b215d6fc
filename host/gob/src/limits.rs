/// What a stream may ask of its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest message, and the largest value with the definitions in the midst of it, in bytes; Go's own limit is
    /// 8 GiB. 64 MiB.
    pub message: usize,
    /// How many elements and fields a value may have, all of its depths together; 1,048,576.
    pub elements: usize,
    /// How deep a value may be nested; 32.
    pub depth: usize,
    /// How many types a stream may define; 512.
    pub types: usize,
    /// How large all definitions of a stream may be together, in bytes; 256 KiB.
    pub definitions: usize,
    /// Over how many messages one value may be spread, for the sake of definitions in the midst of it; 64.
    pub spread: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: 64 << 20,
            elements: 1 << 20,
            depth: 32,
            types: 512,
            definitions: 256 << 10,
            spread: 64,
        }
    }
}
