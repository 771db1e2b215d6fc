use std::sync::Arc;

use rustc_hash::FxHashSet;

/// Texts that many objects have, such as labels and namespaces, each kept once.
///
/// What nobody has any more is let go in time: the pool is never much more than twice what is in use.
#[derive(Debug, Default)]
pub struct Pool {
    texts: FxHashSet<Arc<str>>,
    /// The number of texts when those that nobody had were last let go.
    swept: usize,
}

/// The least number of texts that are worth looking through.
const LEAST: usize = 1024;

impl Pool {
    /// The same text, shared with all that have it.
    pub fn share(&mut self, text: Arc<str>) -> Arc<str> {
        if let Some(known) = self.texts.get(&text) {
            return known.clone();
        }
        if self.texts.len() >= LEAST.max(2 * self.swept) {
            self.texts.retain(|text| Arc::strong_count(text) > 1);
            self.swept = self.texts.len();
        }
        self.texts.insert(text.clone());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one_and_those_that_nobody_has_are_let_go() {
        let mut pool = Pool::default();
        let (first, second) = (pool.share("zone-1".into()), pool.share("zone-1".into()));
        assert!(Arc::ptr_eq(&first, &second));
        for number in 0..10 * LEAST {
            pool.share(number.to_string().into());
        }
        assert!(pool.texts.len() <= LEAST + 1, "{}", pool.texts.len());
        assert!(Arc::ptr_eq(&first, &pool.share("zone-1".into())));
    }
}
