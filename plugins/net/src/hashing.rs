//! Hashing that never changes: what it gives is in files that must not change when nothing does.

/// FNV-1a on 64 bits, with the last step of SplitMix64, so that texts which differ little lie far apart.
fn hash(texts: [&str; 2]) -> u64 {
    let add = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for text in texts {
        // A byte that is in no text keeps "ab" "c" from "a" "bc".
        hash = add(text.bytes().fold(hash, add), 0xff);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

pub(crate) fn hash_below(text: &str, buckets: Option<u32>) -> Result<i64, String> {
    // The sign's bit goes, so that no number is negative.
    let hash = (hash([text, ""]) >> 1) as i64;
    match buckets {
        Some(0) => Err("buckets: 0 is none".into()),
        Some(buckets) => Ok(hash % i64::from(buckets)),
        None => Ok(hash),
    }
}

/// Rendezvous hashing: each item has a weight for the key, and the heaviest win. An item that comes or goes changes only
/// what it wins itself.
pub(crate) fn pick(mut list: Vec<String>, key: &str, count: Option<u32>) -> Vec<String> {
    list.sort();
    list.dedup();
    list.sort_by_cached_key(|item| std::cmp::Reverse(hash([item, key])));
    list.truncate(count.unwrap_or(1) as usize);
    list
}
