//! Texts in the order of their keys, kept next to each other in blocks.
//!
//! A file of thousands of small texts is put together with a copy for each block, and not for each text. A clone shares all blocks,
//! and a change of one text copies one of them.

use std::cmp::Ordering;
use std::ops::{Bound, Range};
use std::sync::Arc;

use imbl::OrdMap;

/// The most bytes of a block that holds more than one text, its keys among them: enough that finding the blocks takes no time beside
/// copying them, and so few that copying one is no cost for a change.
const BLOCK_BYTES: usize = 8 << 10;

/// Texts by key. No two neighbouring blocks take three quarters of the limit or less together.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks<const LIMIT: usize = BLOCK_BYTES> {
    /// By the first key of each; none is empty.
    blocks: OrdMap<Arc<str>, Arc<Block>>,
    bytes: usize,
}

impl<const LIMIT: usize> Blocks<LIMIT> {
    /// The length of all texts.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The texts in order, those of a block in one piece.
    pub(super) fn chunks(&self) -> impl Iterator<Item = &str> {
        self.blocks.values().map(|block| &*block.texts)
    }

    /// Puts a text in the place of the one with this key, if there is one. Tells whether all texts in a row read otherwise now.
    pub(super) fn put(&mut self, key: &Arc<str>, text: &str) -> bool {
        const { assert!(LIMIT <= Start::MAX, "a block's offsets fit") };
        let Some((first, block)) = self.block_of(key) else {
            self.bytes += text.len();
            self.keep(Block::one(key, text));
            return !text.is_empty();
        };
        let (place, first) = (block.find(key), first.clone());
        let kept = place.ok().map(|at| block.text(at));
        if kept == Some(text) {
            return false;
        }
        let old = kept.map_or(0, str::len);
        let added = if place.is_ok() { text.len() } else { Block::weight_of_one(key, text) };
        let weight = block.weight() - old + added;
        let gone = place.map_or_else(|at| at..at, |at| at..at + 1);
        if weight > LIMIT {
            self.divide(&first, gone, key, text);
        } else if gone.start == block.len() && self.is_last(&first) {
            // What comes in order comes here, and more follows.
            if let Some(block) = self.blocks.get_mut(&first) {
                Arc::make_mut(block).push(key, text);
            }
        } else {
            let other = block.spliced(gone, Some((key, text)));
            self.swap(&first, other);
            if text.len() < old {
                self.settle(&first, &first);
            }
        }
        self.bytes = self.bytes - old + text.len();
        place.is_ok() || !text.is_empty()
    }

    /// Takes a key and its text out. Tells whether all texts in a row read otherwise now.
    pub(super) fn remove(&mut self, key: &str) -> bool {
        let Some((first, block)) = self.block_of(key) else {
            return false;
        };
        let Ok(at) = block.find(key) else {
            return false;
        };
        let (first, old, rest) = (first.clone(), block.text(at).len(), block.spliced(at..at + 1, None));
        self.bytes -= old;
        self.swap(&first, rest);
        self.settle(&first, &first);
        old > 0
    }

    /// The block that has this key, or else is to have it.
    fn block_of(&self, key: &str) -> Option<(&Arc<str>, &Arc<Block>)> {
        self.blocks.get_prev(key).or_else(|| self.blocks.get_min().map(|(first, block)| (first, block)))
    }

    fn is_last(&self, first: &str) -> bool {
        self.blocks.get_max().is_some_and(|(last, _)| **last == *first)
    }

    fn keep(&mut self, block: Block) {
        if !block.is_empty() {
            self.blocks.insert(block.key(0).into(), Arc::new(block));
        }
    }

    /// Puts a block in the place of the one with this first key.
    fn swap(&mut self, first: &str, block: Block) {
        if !block.is_empty() && block.key(0) == first {
            if let Some(kept) = self.blocks.get_mut(first) {
                *kept = Arc::new(block);
            }
        } else {
            self.blocks.remove(first);
            self.keep(block);
        }
    }

    /// Puts a text into a block that has no room for it: what comes before its place becomes another block. So one that is filled in
    /// order stays full.
    fn divide(&mut self, first: &str, gone: Range<usize>, key: &str, text: &str) {
        let Some(block) = self.blocks.remove(first) else {
            return;
        };
        let (left, right) = (block.part(0..gone.start), block.part(gone.end..block.len()));
        let room = LIMIT.saturating_sub(Block::weight_of_one(key, text));
        let one = Some((key, text));
        let parts = if right.weight() <= room {
            [left, Block::default(), right.spliced(0..0, one)]
        } else if left.weight() <= room {
            [left.spliced(left.len()..left.len(), one), Block::default(), right]
        } else {
            [left, Block::one(key, text), right]
        };
        let last = parts.iter().rfind(|part| !part.is_empty()).map_or(key, |part| part.key(0));
        let last: Arc<str> = last.into();
        parts.into_iter().for_each(|part| self.keep(part));
        self.settle(first.min(key), &last);
    }

    /// Joins the blocks whose first keys are the first from `low` and the first from `high` with those before and after them,
    /// where they have become small.
    fn settle(&mut self, low: &str, high: &str) {
        self.join(high);
        let before = self.blocks.range::<_, str>((Bound::Unbounded, Bound::Excluded(low))).next_back();
        if let Some(before) = before.map(|(first, _)| first.clone()) {
            self.join(&before);
        }
    }

    /// Joins the first block from a key with the next one if they are small. They are left some room, so that the next text
    /// does not divide them again.
    fn join(&mut self, from: &str) {
        let mut blocks = self.blocks.range::<_, str>((Bound::Included(from), Bound::Unbounded));
        if let (Some((first, left)), Some((second, right))) = (blocks.next(), blocks.next())
            && left.weight() + right.weight() <= Self::JOINED
        {
            let (first, second, joined) = (first.clone(), second.clone(), left.followed_by(right));
            self.blocks.remove(&second);
            self.blocks.insert(first, Arc::new(joined));
        }
    }

    const JOINED: usize = LIMIT / 4 * 3;
}

/// Some keys and their texts in order. A clone takes no more memory than it needs.
#[derive(Debug, Clone, Default)]
struct Block {
    starts: Vec<Start>,
    keys: String,
    texts: String,
}

/// Where a key and its text begin, each among those of its block. They fit, for only the last may go beyond the limit of a block.
#[derive(Debug, Clone, Copy)]
struct Start {
    key: u16,
    text: u16,
}

impl Start {
    const MAX: usize = u16::MAX as usize;

    fn new(key: usize, text: usize) -> Self {
        Self { key: key as u16, text: text as u16 }
    }

    /// The same where what was at `from` is at `to`; of each first the key.
    fn moved(self, from: (usize, usize), to: (usize, usize)) -> Self {
        Self::new(usize::from(self.key) + to.0 - from.0, usize::from(self.text) + to.1 - from.1)
    }
}

impl Block {
    fn one(key: &str, text: &str) -> Self {
        Self { starts: vec![Start::new(0, 0)], keys: key.to_owned(), texts: text.to_owned() }
    }

    fn len(&self) -> usize {
        self.starts.len()
    }

    fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The bytes that all of it takes.
    fn weight(&self) -> usize {
        self.keys.len() + self.texts.len() + size_of_val(&*self.starts)
    }

    fn weight_of_one(key: &str, text: &str) -> usize {
        key.len() + text.len() + size_of::<Start>()
    }

    /// Where a key and its text begin; those after the last begin at the end.
    fn start(&self, at: usize) -> (usize, usize) {
        let end = (self.keys.len(), self.texts.len());
        self.starts.get(at).map_or(end, |start| (start.key.into(), start.text.into()))
    }

    fn key(&self, at: usize) -> &str {
        &self.keys[self.start(at).0..self.start(at + 1).0]
    }

    fn text(&self, at: usize) -> &str {
        &self.texts[self.start(at).1..self.start(at + 1).1]
    }

    /// Where a key is, or else where it is to be.
    fn find(&self, key: &str) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.key(middle).cmp(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// Adds a key and its text behind all others, with room for more.
    fn push(&mut self, key: &str, text: &str) {
        self.starts.push(Start::new(self.keys.len(), self.texts.len()));
        self.keys.push_str(key);
        self.texts.push_str(text);
    }

    /// The same with another key and text, or nothing, in the place of some.
    fn spliced(&self, gone: Range<usize>, one: Option<(&str, &str)>) -> Self {
        let ((key_start, text_start), (key_end, text_end)) = (self.start(gone.start), self.start(gone.end));
        let (key, text) = one.unwrap_or_default();
        let mut starts = Vec::with_capacity(self.len() - gone.len() + usize::from(one.is_some()));
        starts.extend_from_slice(&self.starts[..gone.start]);
        starts.extend(one.map(|_| Start::new(key_start, text_start)));
        let (from, to) = ((key_end, text_end), (key_start + key.len(), text_start + text.len()));
        starts.extend(self.starts[gone.end..].iter().map(|start| start.moved(from, to)));
        Self {
            starts,
            keys: [&self.keys[..key_start], key, &self.keys[key_end..]].concat(),
            texts: [&self.texts[..text_start], text, &self.texts[text_end..]].concat(),
        }
    }

    fn part(&self, range: Range<usize>) -> Self {
        let ((key, text), (key_end, text_end)) = (self.start(range.start), self.start(range.end));
        Self {
            starts: self.starts[range].iter().map(|start| start.moved((key, text), (0, 0))).collect(),
            keys: self.keys[key..key_end].to_owned(),
            texts: self.texts[text..text_end].to_owned(),
        }
    }

    fn followed_by(&self, next: &Self) -> Self {
        let mut starts = Vec::with_capacity(self.len() + next.len());
        starts.extend_from_slice(&self.starts);
        starts.extend(next.starts.iter().map(|start| start.moved((0, 0), self.start(self.len()))));
        Self {
            starts,
            keys: [&*self.keys, &*next.keys].concat(),
            texts: [&*self.texts, &*next.texts].concat(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    type Model = BTreeMap<Arc<str>, String>;

    fn read<const LIMIT: usize>(blocks: &Blocks<LIMIT>) -> String {
        blocks.chunks().collect()
    }

    /// Keys and texts as the blocks have them, once it is certain that the blocks are in order and neither too large nor too many.
    fn rows<const LIMIT: usize>(blocks: &Blocks<LIMIT>) -> Vec<(Arc<str>, String)> {
        let mut rows: Vec<(Arc<str>, String)> = Vec::new();
        let mut before = None;
        for (first, block) in &blocks.blocks {
            assert_eq!(&**first, block.key(0));
            assert!(block.len() == 1 || block.weight() <= LIMIT, "{block:?}");
            assert!(
                before.is_none_or(|before| before + block.weight() > Blocks::<LIMIT>::JOINED),
                "{blocks:?}"
            );
            before = Some(block.weight());
            rows.extend((0..block.len()).map(|at| (block.key(at).into(), block.text(at).to_owned())));
        }
        assert!(rows.is_sorted_by(|(a, _), (b, _)| a < b), "{rows:?}");
        assert_eq!(blocks.bytes(), rows.iter().map(|(_, text)| text.len()).sum::<usize>());
        rows
    }

    fn shared<const LIMIT: usize>(a: &Blocks<LIMIT>, b: &Blocks<LIMIT>) -> usize {
        a.blocks.values().filter(|block| b.blocks.values().any(|other| Arc::ptr_eq(block, other))).count()
    }

    /// What the blocks take beyond what is in them.
    fn room<const LIMIT: usize>(blocks: &Blocks<LIMIT>) -> usize {
        let rooms = blocks.blocks.values().map(|block| {
            let starts = (block.starts.capacity() - block.starts.len()) * size_of::<Start>();
            starts + block.keys.capacity() - block.keys.len() + block.texts.capacity() - block.texts.len()
        });
        rooms.sum()
    }

    fn filled(numbers: impl Iterator<Item = u32>) -> Blocks {
        let mut blocks = Blocks::default();
        for number in numbers {
            blocks.put(&format!("{number:06}").into(), &format!("the text of {number}\n").repeat(10));
        }
        rows(&blocks);
        blocks
    }

    /// Plays a history of texts that are put and keys that are taken out, beside a map that does the same.
    fn check<const LIMIT: usize>(history: &[(u8, Option<(usize, char)>)]) {
        let (mut blocks, mut model) = (Blocks::<LIMIT>::default(), Model::new());
        for (key, text) in history {
            let key: Arc<str> = format!("{:é>1$}", key, usize::from(key % 7)).into();
            let (kept, before) = (blocks.clone(), read(&blocks));
            let changed = match text {
                Some((length, letter)) => {
                    let text = letter.to_string().repeat(*length);
                    let changed = blocks.put(&key, &text);
                    model.insert(key, text);
                    changed
                }
                None => {
                    model.remove(&key);
                    blocks.remove(&key)
                }
            };
            assert!(rows(&blocks).iter().map(|(key, text)| (key, text)).eq(&model), "{blocks:?} {model:?}");
            assert_eq!(changed, before != read(&blocks));
            assert_eq!(read(&kept), before, "a clone stays as it was");
        }
    }

    /// How many of which letter. Some texts are larger than a small block.
    fn text() -> impl Strategy<Value = (usize, char)> {
        (prop_oneof![0_usize..20, 0_usize..100], proptest::sample::select(vec!['a', 'é']))
    }

    proptest! {
        #[test]
        fn any_history_leaves_what_a_map_would_hold(
            history in proptest::collection::vec((0_u8..40, proptest::option::weighted(0.7, text())), 1..80),
        ) {
            check::<1>(&history);
            check::<64>(&history);
            check::<200>(&history);
        }
    }

    #[test]
    fn what_comes_in_order_fills_the_blocks() {
        for blocks in [filled(0..5_000), filled((0..5_000).rev())] {
            let weight: usize = blocks.blocks.values().map(|block| block.weight()).sum();
            let most = weight.div_ceil(BLOCK_BYTES / 10 * 9);
            assert!(blocks.blocks.len() <= most, "{} blocks, and not {most}", blocks.blocks.len());
            assert!(room(&blocks) < weight / 10, "{} bytes of room in {weight}", room(&blocks));
        }
    }

    #[test]
    fn blocks_that_changed_take_little_more_than_what_is_in_them() {
        let mut blocks = filled(0..5_000);
        for number in 0..5_000 {
            let (kept, key): (_, Arc<str>) = (blocks.clone(), format!("{:06}", number * 7 % 5_000).into());
            match number % 3 {
                0 => blocks.remove(&key),
                1 => blocks.put(&key, &"longer than it was ".repeat(12)),
                _ => blocks.put(&format!("{key}x").into(), &"another ".repeat(20)),
            };
            assert_ne!(blocks.bytes(), kept.bytes());
        }
        rows(&blocks);
        assert!(room(&blocks) < blocks.bytes() / 50, "{} of {}", room(&blocks), blocks.bytes());
    }

    #[test]
    fn a_change_of_one_text_leaves_all_other_blocks_shared() {
        for size in [200, 2_000, 20_000] {
            let before = filled((0..size).map(|number| number * 2));
            for number in [0, 1, size, size + 1, size * 2 - 2, size * 2] {
                let key: Arc<str> = format!("{number:06}").into();
                for text in
                    [Some(""), Some("short"), Some("longer than it was"), Some(&*"long".repeat(5_000)), None]
                {
                    let mut after = before.clone();
                    match text {
                        Some(text) => after.put(&key, text),
                        None => after.remove(&key),
                    };
                    rows(&after);
                    let copied = before.blocks.len() - shared(&before, &after);
                    assert!(copied <= 3, "{copied} of {} blocks: {key} {text:?}", before.blocks.len());
                }
            }
        }
    }

    #[test]
    fn texts_that_are_empty_or_larger_than_a_block_are_kept_like_any_other() {
        let large = "x".repeat(3 * BLOCK_BYTES);
        let mut blocks: Blocks = Blocks::default();
        let steps = [
            ("b", Some(""), false, ""),
            ("b", Some(""), false, ""),
            ("a", Some(&*large), true, &*large),
            ("b", None, false, &*large),
            ("b", None, false, &*large),
            ("a", Some(&*large), false, &*large),
            ("a", Some(""), true, ""),
            ("a", Some("1"), true, "1"),
            ("0", Some("2"), true, "21"),
            ("a", None, true, "2"),
            ("0", None, true, ""),
        ];
        for (key, text, changed, expected) in steps {
            let key: Arc<str> = key.into();
            let told = match text {
                Some(text) => blocks.put(&key, text),
                None => blocks.remove(&key),
            };
            rows(&blocks);
            assert_eq!((told, &*read(&blocks)), (changed, expected), "{key} {:?}", text.map(str::len));
        }
        assert!(blocks.blocks.is_empty());
    }

    #[test]
    fn many_keys_without_text_are_divided_too() {
        let mut blocks: Blocks = Blocks::default();
        for number in 0..5_000 {
            blocks.put(&format!("{number:06}").into(), "");
        }
        assert_eq!(rows(&blocks).len(), 5_000);
        assert!(blocks.blocks.len() > 1);
    }
}
