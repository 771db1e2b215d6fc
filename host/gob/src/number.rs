//! The numbers of gob: below 128 one byte; else the count of bytes, negated, and the number, big-endian.

/// A number at the start of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Uint {
    /// The number, and how many bytes it takes.
    Read(u64, usize),
    /// More bytes are needed: so many in all.
    Short(usize),
    /// No number is that long.
    Overlong(usize),
}

pub(crate) fn read_uint(bytes: &[u8]) -> Uint {
    let Some(&first) = bytes.first() else { return Uint::Short(1) };
    if first < 0x80 {
        return Uint::Read(u64::from(first), 1);
    }
    let count = usize::from(first.wrapping_neg());
    if count > 8 {
        return Uint::Overlong(count);
    }
    match bytes.get(1..=count) {
        Some(bytes) => Uint::Read(bytes.iter().fold(0, |sum, &byte| sum << 8 | u64::from(byte)), count + 1),
        None => Uint::Short(count + 1),
    }
}

pub(crate) fn write_uint(out: &mut Vec<u8>, number: u64) {
    if let Ok(small @ 0..0x80) = u8::try_from(number) {
        out.push(small);
        return;
    }
    let bytes = number.to_be_bytes();
    let from = (number.leading_zeros() / 8) as usize;
    let count = bytes.len() - from;
    out.push((count as u8).wrapping_neg());
    out.extend_from_slice(&bytes[from..]);
}

/// A signed number as an unsigned one: the sign is the lowest bit.
pub(crate) fn unsigned(number: i64) -> u64 {
    let doubled = (number as u64) << 1;
    if number < 0 { !doubled } else { doubled }
}

pub(crate) fn signed(number: u64) -> i64 {
    let half = (number >> 1) as i64;
    if number & 1 == 1 { !half } else { half }
}

/// A float: its bits, the bytes in reverse, so that round numbers are short.
pub(crate) fn float(number: u64) -> f64 {
    f64::from_bits(number.swap_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_go_writes_them() {
        for (number, bytes) in [
            (0u64, &[0u8][..]),
            (7, &[7]),
            (127, &[127]),
            (128, &[0xff, 0x80]),
            (256, &[0xfe, 0x01, 0x00]),
            (u64::MAX, &[0xf8, 255, 255, 255, 255, 255, 255, 255, 255]),
        ] {
            let mut out = Vec::new();
            write_uint(&mut out, number);
            assert_eq!(out, bytes);
            assert_eq!(read_uint(bytes), Uint::Read(number, bytes.len()));
            for short in 0..bytes.len() {
                assert!(matches!(read_uint(&bytes[..short]), Uint::Short(needed) if needed > short));
            }
        }
        assert_eq!(read_uint(&[0xf7]), Uint::Overlong(9));
        assert_eq!(read_uint(&[0x80]), Uint::Overlong(128));
        for (number, as_unsigned) in
            [(0, 0), (1, 2), (-1, 1), (-64, 127), (i64::MAX, u64::MAX - 1), (i64::MIN, u64::MAX)]
        {
            assert_eq!((unsigned(number), signed(as_unsigned)), (as_unsigned, number));
        }
        assert_eq!(float(0xf03f), 1.0);
    }
}
