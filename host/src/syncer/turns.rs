//! Whom to try next, of instances that come and go.

/// Those that were tried since one was of use, the one that was tried last at the end.
#[derive(Debug)]
pub(super) struct Turns<T> {
    tried: Vec<T>,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self { tried: Vec::new() }
    }
}

impl<T: Clone + PartialEq> Turns<T> {
    /// The first of all that was not tried; when all were, those that come again begin with the one that was tried longest
    /// ago. None if there is none at all.
    pub(super) fn next(&mut self, all: &[T]) -> Option<T> {
        self.tried.retain(|tried| all.contains(tried));
        let fresh = all.iter().find(|one| !self.tried.contains(one));
        let next = fresh.or_else(|| self.tried.first()).cloned()?;
        self.tried.retain(|tried| *tried != next);
        self.tried.push(next.clone());
        Some(next)
    }

    /// The one that was tried last was of use: after it, all others are as good as ever.
    pub(super) fn was_of_use(&mut self) {
        let last = self.tried.pop();
        self.tried.clear();
        self.tried.extend(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_comes_again_after_all_others() {
        let mut turns = Turns::default();
        let all = [1, 2, 3];
        assert_eq!([(); 5].map(|()| turns.next(&all)), [1, 2, 3, 1, 2].map(Some));
        // One that is new is tried before those that failed; one that is gone is not tried.
        assert_eq!(turns.next(&[2, 3, 4]), Some(4));
        turns.was_of_use();
        assert_eq!([(); 3].map(|()| turns.next(&[4, 2, 3])), [2, 3, 4].map(Some));
        assert_eq!(turns.next(&[]), None);
    }
}
