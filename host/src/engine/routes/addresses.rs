//! Lists of addresses in few bytes.

use std::net::IpAddr;

/// Addresses in order, each with a small number that tells what it is to whoever has the list.
///
/// An address takes its four or sixteen bytes and one more for its family and its number.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Addresses(Box<[u8]>);

/// The greatest number that an address can have.
const GREATEST: u8 = u8::MAX >> 1;

impl Addresses {
    /// The addresses with their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u8, IpAddr)> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let (head, bytes) = rest.split_first()?;
            let address = if head & 1 == 0 {
                let (octets, after) = bytes.split_first_chunk::<4>()?;
                rest = after;
                IpAddr::from(*octets)
            } else {
                let (octets, after) = bytes.split_first_chunk::<16>()?;
                rest = after;
                IpAddr::from(*octets)
            };
            Some((head >> 1, address))
        })
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(u8, IpAddr)> for Addresses {
    fn from_iter<I: IntoIterator<Item = (u8, IpAddr)>>(addresses: I) -> Self {
        let mut bytes = Vec::new();
        for (number, address) in addresses {
            debug_assert!(number <= GREATEST, "the number of an address has seven bits");
            match address {
                IpAddr::V4(address) => {
                    bytes.push(number << 1);
                    bytes.extend(address.octets());
                }
                IpAddr::V6(address) => {
                    bytes.push(number << 1 | 1);
                    bytes.extend(address.octets());
                }
            }
        }
        Self(bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_comes_out() {
        let lists: [&[(u8, &str)]; 4] = [
            &[],
            &[(0, "10.0.0.1")],
            &[(GREATEST, "fd00::1"), (0, "255.255.255.255"), (1, "::")],
            &[(1, "::ffff:10.0.0.1"), (2, "10.0.0.1"), (2, "10.0.0.1")],
        ];
        for list in lists {
            let list: Vec<(u8, IpAddr)> =
                list.iter().map(|(number, address)| (*number, address.parse().unwrap())).collect();
            let addresses: Addresses = list.iter().copied().collect();
            assert_eq!(addresses.iter().collect::<Vec<_>>(), list);
            assert_eq!(addresses.is_empty(), list.is_empty());
        }
    }
}
