//! What a plugin allocates with.
//!
//! Every argument and every answer of a call is memory that somebody allocates and somebody else gives back. The standard
//! library's allocator for WebAssembly joins and splits blocks each time, which is more work than most functions of a
//! template have to do. Here a block goes to a list of blocks of its size, and the next one of that size is taken from
//! there. An instance lives as long as a rendering, so nothing is ever joined.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ptr::null_mut;

/// The smallest blocks have this size, each further class twice as much. Also what every block is aligned to.
const SMALLEST: usize = 16;

/// The sizes: 16 to 1,024 bytes. What is larger, or more aligned, is the standard library's business.
const CLASSES: usize = 7;

/// What is taken from the standard library's allocator at once.
const CHUNK: usize = 16 << 10;

/// An allocator for one thread.
pub(crate) struct Allocator {
    /// The first free block of each class; the first word of a block is the next one.
    free: [Cell<*mut u8>; CLASSES],
    /// What is left of the last chunk.
    rest: Cell<*mut u8>,
    left: Cell<usize>,
}

// SAFETY: a module of WebAssembly without the proposal for threads, which the host does not let in, has one thread.
#[cfg(target_arch = "wasm32")]
unsafe impl Sync for Allocator {}

impl Allocator {
    pub(crate) const fn new() -> Self {
        Self {
            free: [const { Cell::new(null_mut()) }; CLASSES],
            rest: Cell::new(null_mut()),
            left: Cell::new(0),
        }
    }

    /// A new block of a class; null when there is no memory.
    fn carve(&self, class: usize) -> *mut u8 {
        let size = SMALLEST << class;
        if self.left.get() < size {
            let Ok(layout) = Layout::from_size_align(CHUNK, SMALLEST) else { return null_mut() };
            // SAFETY: the layout's size is not 0.
            let chunk = unsafe { System.alloc(layout) };
            if chunk.is_null() {
                return chunk;
            }
            self.rest.set(chunk);
            self.left.set(CHUNK);
        }
        let block = self.rest.get();
        // SAFETY: that much is left behind `rest`.
        self.rest.set(unsafe { block.add(size) });
        self.left.set(self.left.get() - size);
        block
    }
}

/// The class of the blocks that hold a layout, if there is one.
fn class(layout: Layout) -> Option<usize> {
    let units = layout.size().wrapping_sub(1) / SMALLEST;
    let class = (usize::BITS - units.leading_zeros()) as usize;
    (class < CLASSES && layout.align() <= SMALLEST).then_some(class)
}

// SAFETY: a block is in a list or in use, never both; blocks of a class are all as large and as aligned as any layout of it
// needs, and so it does not matter for which of these one was allocated.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(class) = class(layout) else {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc(layout) };
        };
        let block = self.free[class].get();
        if block.is_null() {
            return self.carve(class);
        }
        // SAFETY: a free block's first word is the next block.
        self.free[class].set(unsafe { block.cast::<*mut u8>().read() });
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(class) = class(layout) else {
            // SAFETY: the caller's promise; a layout without a class was the standard library's from the start.
            return unsafe { System.dealloc(block, layout) };
        };
        // SAFETY: nobody uses the block any more, and it has room for a word.
        unsafe { block.cast::<*mut u8>().write(self.free[class].get()) };
        self.free[class].set(block);
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size can be a layout's.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (class(layout), class(new)) {
            // SAFETY: the caller's promise; both are the standard library's.
            (None, None) => unsafe { System.realloc(block, layout, size) },
            (old, other) if old == other => block,
            _ => {
                // SAFETY: the new block is another one, and both have room for what is copied.
                unsafe {
                    let other = self.alloc(new);
                    if !other.is_null() {
                        other.copy_from_nonoverlapping(block, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                    other
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Block {
        at: *mut u8,
        layout: Layout,
        mark: u8,
    }

    impl Block {
        fn fill(&self) {
            // SAFETY: the block has that size.
            unsafe { self.at.write_bytes(self.mark, self.layout.size()) };
        }

        fn is_whole(&self, size: usize) -> bool {
            // SAFETY: the block has at least that size, and was filled.
            unsafe { std::slice::from_raw_parts(self.at, size) }.iter().all(|byte| *byte == self.mark)
        }
    }

    #[test]
    fn blocks_are_apart_and_keep_what_is_in_them() {
        let allocator = Allocator::new();
        let mut seed = 1_u64;
        let mut number = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let mut blocks: Vec<Block> = Vec::new();
        for turn in 0..20_000 {
            let size = 1 + if number(8) == 0 { number(5_000) } else { number(80) } as usize;
            match number(4) {
                0 | 1 => {
                    let layout = Layout::from_size_align(size, 1 << number(6)).unwrap();
                    // SAFETY: the size is not 0.
                    let at = unsafe { allocator.alloc(layout) };
                    assert!(!at.is_null() && (at as usize).is_multiple_of(layout.align()));
                    blocks.push(Block { at, layout, mark: turn as u8 });
                    blocks[blocks.len() - 1].fill();
                }
                2 if !blocks.is_empty() => {
                    let place = number(blocks.len() as u64) as usize;
                    let block = &mut blocks[place];
                    let kept = block.layout.size().min(size);
                    // SAFETY: the block is this allocator's, with this layout.
                    block.at = unsafe { allocator.realloc(block.at, block.layout, size) };
                    assert!(block.is_whole(kept));
                    block.layout = Layout::from_size_align(size, block.layout.align()).unwrap();
                    block.fill();
                }
                _ if !blocks.is_empty() => {
                    let block = blocks.swap_remove(number(blocks.len() as u64) as usize);
                    assert!(block.is_whole(block.layout.size()));
                    // SAFETY: the block is this allocator's, with this layout.
                    unsafe { allocator.dealloc(block.at, block.layout) };
                }
                _ => {}
            }
        }
        assert!(blocks.len() > 100 && blocks.iter().all(|block| block.is_whole(block.layout.size())));
    }

    #[test]
    fn a_block_that_was_given_back_is_the_next_of_its_size() {
        let allocator = Allocator::new();
        let layout = |size| Layout::from_size_align(size, 8).unwrap();
        for (first, next) in [(1, 16), (17, 32), (100, 65), (1024, 513)] {
            // SAFETY: no size is 0, and each block is given back with the layout that it was allocated for.
            let (one, other) = unsafe {
                let one = allocator.alloc(layout(first));
                allocator.dealloc(one, layout(first));
                (one, allocator.alloc(layout(next)))
            };
            assert_eq!(one, other, "{first} {next}");
        }
    }
}
