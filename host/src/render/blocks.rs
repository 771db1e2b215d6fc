//! Texts in the order of their keys, kept next to each other in blocks.
//!
//! A file of thousands of small texts is put together with a copy for each block, and not for each text. A clone shares all blocks,
//! and a change of one text copies its block, and now and then those beside it.

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
        if weight > LIMIT && gone.is_empty() && (gone.start == 0 || gone.start == block.len()) {
            self.put_beside(&first, key, text);
        } else if weight > LIMIT {
            let block = block.clone();
            self.divide(&first, &block, gone, key, text);
        } else {
            // What comes in order comes to the end of the last one, and more follows.
            let room =
                if gone.start == block.len() && self.is_last(&first) { Room::More } else { Room::Exact };
            self.change(&first, |block| block.splice(gone, Some((key, text)), room));
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
        let (first, old) = (first.clone(), block.text(at).len());
        self.bytes -= old;
        self.change(&first, |block| block.splice(at..at + 1, None, Room::Exact));
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

    /// Changes the block with this first key: in its place, if nobody else has it.
    fn change(&mut self, first: &str, change: impl FnOnce(&mut Block)) {
        let Some(block) = self.blocks.get_mut(first) else { return };
        change(Arc::make_mut(block));
        if block.is_empty() || block.key(0) != first {
            let block = self.blocks.remove(first).filter(|block| !block.is_empty());
            self.blocks.extend(block.map(|block| (Arc::from(block.key(0)), block)));
        }
    }

    /// Puts a text before or behind a block that has no room for it, and that may be one large text: it stays what it is.
    fn put_beside(&mut self, first: &str, key: &str, text: &str) {
        if let Some(block) = self.blocks.get_mut(first).and_then(Arc::get_mut) {
            block.shrink();
        }
        self.keep(Block::one(key, text));
        self.settle(first.min(key), first.max(key));
    }

    /// Puts a text into a block that has no room for it: what comes before its place becomes another block. So one that is filled in
    /// order stays full.
    fn divide(&mut self, first: &str, block: &Arc<Block>, gone: Range<usize>, key: &str, text: &str) {
        let (left, right) = (0..gone.start, gone.end..block.len());
        let room = LIMIT.saturating_sub(Block::weight_of_one(key, text));
        let one = Some((key, text));
        self.blocks.remove(first);
        let (mut left, mut right) = (block.part(left), block.part(right));
        if right.weight() <= room {
            right.splice(0..0, one, Room::Exact);
        } else if left.weight() <= room {
            left.splice(left.len()..left.len(), one, Room::Exact);
        } else {
            self.keep(Block::one(key, text));
        }
        self.keep(left);
        self.keep(right);
        let last = self.blocks.get_prev(block.last_key().max(key)).map(|(last, _)| last.clone());
        self.settle(first.min(key), last.as_deref().unwrap_or(key));
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

/// What a text that grows is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// What it needs.
    Exact,
    /// That, and some for what follows.
    More,
}

/// Some keys and their texts in order. A clone takes no more memory than it needs.
#[derive(Debug, Clone, Default)]
struct Block {
    starts: Vec<Start>,
    keys: String,
    texts: String,
}

/// Where a key and its text begin, each among those of its block. They fit: a block that is larger than its limit has one text.
#[derive(Debug, Clone, Copy)]
struct Start {
    key: u16,
    text: u16,
}

impl Start {
    const MAX: usize = u16::MAX as usize;

    fn new(key: usize, text: usize) -> Self {
        debug_assert!(key.max(text) <= Self::MAX, "{key} {text}");
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

    /// The last key.
    fn last_key(&self) -> &str {
        self.len().checked_sub(1).map_or("", |last| self.key(last))
    }

    /// Puts another key and text, or nothing, in the place of some.
    fn splice(&mut self, gone: Range<usize>, one: Option<(&str, &str)>, room: Room) {
        let ((key_start, text_start), (key_end, text_end)) = (self.start(gone.start), self.start(gone.end));
        let (key, text) = one.unwrap_or_default();
        if room == Room::Exact {
            self.keys.reserve_exact(key.len().saturating_sub(key_end - key_start));
            self.texts.reserve_exact(text.len().saturating_sub(text_end - text_start));
            self.starts.reserve_exact(usize::from(one.is_some()).saturating_sub(gone.len()));
        }
        let (from, to) = ((key_end, text_end), (key_start + key.len(), text_start + text.len()));
        self.keys.replace_range(key_start..key_end, key);
        self.texts.replace_range(text_start..text_end, text);
        for start in &mut self.starts[gone.end..] {
            *start = start.moved(from, to);
        }
        self.starts.splice(gone, one.map(|_| Start::new(key_start, text_start)));
    }

    /// Gives back what it has room for.
    fn shrink(&mut self) {
        self.starts.shrink_to_fit();
        self.keys.shrink_to_fit();
        self.texts.shrink_to_fit();
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

    /// Compares the blocks with a map that had the same history.
    fn compare<const LIMIT: usize>(blocks: &Blocks<LIMIT>, model: &Model) {
        let rows = rows(blocks);
        assert!(rows.iter().map(|(key, text)| (key, text)).eq(model), "{rows:?} {model:?}");
    }

    fn filled(numbers: impl Iterator<Item = u32>) -> (Blocks, Model) {
        let (mut blocks, mut model) = (Blocks::default(), Model::new());
        for number in numbers {
            let (key, text) =
                (Arc::from(format!("{number:06}")), format!("the text of {number}\n").repeat(10));
            blocks.put(&key, &text);
            model.insert(key, text);
        }
        compare(&blocks, &model);
        (blocks, model)
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
            compare(&blocks, &model);
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
        for (blocks, _) in [filled(0..5_000), filled((0..5_000).rev())] {
            let weight: usize = blocks.blocks.values().map(|block| block.weight()).sum();
            let most = weight.div_ceil(BLOCK_BYTES / 10 * 9);
            assert!(blocks.blocks.len() <= most, "{} blocks, and not {most}", blocks.blocks.len());
            assert!(room(&blocks) < weight / 10, "{} bytes of room in {weight}", room(&blocks));
        }
    }

    #[test]
    fn blocks_that_changed_take_little_more_than_what_is_in_them() {
        for shared in [true, false] {
            let (mut blocks, mut model) = filled(0..5_000);
            for number in 0..5_000 {
                let kept = shared.then(|| blocks.clone());
                let (before, key) = (blocks.bytes(), Arc::from(format!("{:06}", number * 7 % 5_000)));
                let (key, text) = match number % 3 {
                    0 => (key, None),
                    1 => (key, Some("longer than it was ".repeat(12))),
                    _ => (format!("{key}x").into(), Some("another ".repeat(20))),
                };
                match text {
                    None => {
                        blocks.remove(&key);
                        model.remove(&key);
                    }
                    Some(text) => {
                        blocks.put(&key, &text);
                        model.insert(key, text);
                    }
                }
                assert_ne!(blocks.bytes(), before);
                assert!(kept.is_none_or(|kept| kept.bytes() == before));
            }
            compare(&blocks, &model);
            assert!(room(&blocks) < blocks.bytes() / 20, "{} of {}", room(&blocks), blocks.bytes());
        }
    }

    #[test]
    fn a_change_of_one_text_leaves_all_other_blocks_shared() {
        for size in [200, 2_000, 20_000] {
            let (before, model) = filled((0..size).map(|number| number * 2));
            for number in [0, 1, size, size + 1, size * 2 - 2, size * 2] {
                let key: Arc<str> = format!("{number:06}").into();
                for text in
                    [Some(""), Some("short"), Some("longer than it was"), Some(&*"long".repeat(5_000)), None]
                {
                    let (mut after, mut model) = (before.clone(), model.clone());
                    match text {
                        Some(text) => {
                            after.put(&key, text);
                            model.insert(key.clone(), text.to_owned());
                        }
                        None => {
                            after.remove(&key);
                            model.remove(&key);
                        }
                    }
                    compare(&after, &model);
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
    fn what_is_put_beside_a_large_text_leaves_it_shared() {
        let mut before: Blocks = Blocks::default();
        before.put(&"m".into(), &"x".repeat(10 * BLOCK_BYTES));
        for key in ["a", "z"] {
            let mut after = before.clone();
            for text in ["short", "shorter", ""] {
                after.put(&key.into(), text);
                assert_eq!((shared(&before, &after), rows(&after).len()), (1, 2), "{key} {text}");
            }
            after.remove(key);
            assert_eq!((shared(&before, &after), rows(&after).len()), (1, 1), "{key}");
        }
    }

    #[test]
    fn texts_and_keys_of_any_length_stand_between_others() {
        for length in [Start::MAX - 1, Start::MAX, Start::MAX + 1, 5 << 20] {
            let large = "x".repeat(length);
            for (key, text) in [("m".to_owned(), large.clone()), (format!("m{large}"), "text".to_owned())] {
                let (mut blocks, mut model) = (Blocks::<BLOCK_BYTES>::default(), Model::new());
                let steps = [("a", "1"), ("z", "2"), (&*key, &*text), ("l", "3"), ("n", "4"), (&*key, "5")];
                for (key, text) in steps {
                    blocks.put(&key.into(), text);
                    model.insert(key.into(), text.to_owned());
                    assert!(rows(&blocks).iter().map(|(key, text)| (key, text)).eq(&model), "{length}");
                }
                for key in ["l", &*key, "a", "z", "n"] {
                    blocks.remove(key);
                    model.remove(key);
                    assert!(rows(&blocks).iter().map(|(key, text)| (key, text)).eq(&model), "{length}");
                }
            }
        }
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
