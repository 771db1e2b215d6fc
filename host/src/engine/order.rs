//! The order in which many keys are put into an ordered tree.

/// Every other one in order, then those between them.
///
/// A tree that is filled in order keeps half of each of its leaves free, for a full one is halved and nothing comes to the
/// first half any more. This order comes back to each of them.
pub(crate) fn filling<T>(sorted: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    let (mut first, mut between) = (Vec::new(), Vec::new());
    for (at, item) in sorted.into_iter().enumerate() {
        if at % 2 == 0 { first.push(item) } else { between.push(item) }
    }
    first.into_iter().chain(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_come_and_the_second_half_between_the_first() {
        for (count, expected) in [(0, vec![]), (1, vec![0]), (2, vec![0, 1]), (5, vec![0, 2, 4, 1, 3])] {
            assert_eq!(filling(0..count).collect::<Vec<i32>>(), expected);
        }
    }
}
