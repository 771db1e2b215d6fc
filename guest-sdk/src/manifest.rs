//! What a plugin says of itself, as a custom section of its module.

/// The version of the contract.
pub const CONTRACT: &str = "0.1.0";

/// What a plugin says of itself. [`manifest!`](crate::manifest!) makes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manifest {
    /// The plugin's name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// What it does, in a line.
    pub description: &'static str,
    /// The keys that it wants to read: paths, in which `*` stands for any one segment. `/a/*/b` covers `/a/x/b` and
    /// `/a/x/b/c`.
    pub wants: &'static [&'static str],
}

impl Manifest {
    /// The length of its JSON.
    #[doc(hidden)]
    pub const fn json_length(&self) -> usize {
        self.write(&mut [])
    }

    /// Its JSON, which must have this length.
    #[doc(hidden)]
    pub const fn json<const N: usize>(&self) -> [u8; N] {
        let mut out = [0; N];
        let length = self.write(&mut out);
        assert!(length == N, "the length is that of json_length");
        out
    }

    /// Writes as much of the JSON as there is room for; gives the length of all of it.
    const fn write(&self, out: &mut [u8]) -> usize {
        let mut at = raw(out, 0, "{\"name\":");
        at = quoted(out, at, self.name);
        at = raw(out, at, ",\"version\":");
        at = quoted(out, at, self.version);
        at = raw(out, at, ",\"contract\":");
        at = quoted(out, at, CONTRACT);
        at = raw(out, at, ",\"description\":");
        at = quoted(out, at, self.description);
        at = raw(out, at, ",\"wants\":[");
        let mut index = 0;
        while index < self.wants.len() {
            if index > 0 {
                at = raw(out, at, ",");
            }
            at = quoted(out, at, self.wants[index]);
            index += 1;
        }
        raw(out, at, "]}")
    }
}

const fn put(out: &mut [u8], at: usize, byte: u8) -> usize {
    if at < out.len() {
        out[at] = byte;
    }
    at + 1
}

const fn raw(out: &mut [u8], mut at: usize, text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut index = 0;
    while index < bytes.len() {
        at = put(out, at, bytes[index]);
        index += 1;
    }
    at
}

const fn quoted(out: &mut [u8], mut at: usize, text: &str) -> usize {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let bytes = text.as_bytes();
    at = put(out, at, b'"');
    let mut index = 0;
    while index < bytes.len() {
        let byte = bytes[index];
        if byte < 0x20 {
            at = raw(out, at, "\\u00");
            at = put(out, at, HEX[(byte >> 4) as usize]);
            at = put(out, at, HEX[(byte & 15) as usize]);
        } else {
            if byte == b'"' || byte == b'\\' {
                at = put(out, at, b'\\');
            }
            at = put(out, at, byte);
        }
        index += 1;
    }
    put(out, at, b'"')
}

/// Says what a plugin is called, what it does, and which keys it wants to read; once in a crate. The version is the
/// crate's, unless one is given.
///
/// The operator must grant what is wanted, or the plugin is not loaded.
///
/// ```
/// tailorbird_guest::manifest! {
///     name: "drain",
///     description: "Moves traffic away from nodes that are going down.",
///     wants: ["/tailorbird/v1/node/*/unschedulable"],
/// }
///
/// # fn main() {
/// assert_eq!(MANIFEST.name, "drain");
/// # }
/// ```
#[macro_export]
macro_rules! manifest {
    (
        name: $name:expr,
        $(version: $version:expr,)?
        description: $description:expr,
        wants: [$($want:expr),* $(,)?] $(,)?
    ) => {
        /// What this plugin says of itself.
        #[allow(unreachable_pub)]
        pub const MANIFEST: $crate::Manifest = $crate::Manifest {
            name: $name,
            version: $crate::__first!($($version,)? env!("CARGO_PKG_VERSION")),
            description: $description,
            wants: &[$($want),*],
        };
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            #[used]
            #[unsafe(link_section = "tailorbird.plugin")]
            static SECTION: [u8; MANIFEST.json_length()] = MANIFEST.json();
        };
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __first {
    ($first:expr $(, $rest:expr)*) => {
        $first
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_is_json_whatever_the_texts() {
        const MANIFEST: Manifest = Manifest {
            name: "a\"b\\",
            version: "1.0.0-ä",
            description: "line\nline\u{1}\u{1f}",
            wants: &["/a/*", "/b"],
        };
        const JSON: [u8; MANIFEST.json_length()] = MANIFEST.json();
        let json: serde_json::Value = serde_json::from_slice(&JSON).unwrap();
        let expected = serde_json::json!({
            "name": MANIFEST.name,
            "version": MANIFEST.version,
            "contract": CONTRACT,
            "description": MANIFEST.description,
            "wants": MANIFEST.wants,
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn the_version_is_the_crates_unless_one_is_given() {
        mod own {
            crate::manifest! { name: "x", description: "", wants: [] }
        }
        mod given {
            crate::manifest! { name: "x", version: "7.0.0", description: "", wants: ["/a", "/b",], }
        }
        assert_eq!(own::MANIFEST.version, env!("CARGO_PKG_VERSION"));
        assert_eq!((given::MANIFEST.version, given::MANIFEST.wants), ("7.0.0", &["/a", "/b"][..]));
    }
}
