//! What a Service asks for itself.

use tailorbird_guest::{Community, Kv, Service};

use crate::wish::{MOST, Wish, destination};

/// The annotations of a Service that are of this plugin.
const DOMAIN: &str = "bgp.tailorbird.io";

/// Reads the annotations of a Service. `communities_of` are the AS numbers whose communities may be asked for; all, if there
/// is no list.
///
/// # Errors
/// An annotation is malformed or unknown. What it was to hold back cannot be known then.
pub(crate) fn wish(
    service: Service<'_>,
    communities_of: Option<&[u32]>,
    kv: &dyn Kv,
) -> Result<Wish, String> {
    let Service { namespace, name } = service;
    // Thousands of Services are asked about in a call, and most say nothing.
    let folder = ["/tailorbird/v1/service/", namespace, "/", name, "/annotations/", DOMAIN].concat();
    let mut wish = Wish::default();
    for row in kv.list(&folder) {
        let name = row.key.strip_prefix(&folder).unwrap_or(&row.key).trim_start_matches('/');
        let read = match name {
            "advertise" => flag(&row.value).map(|advertise| wish.advertise = advertise),
            "communities" => communities(&row.value, communities_of)
                .map(|communities| wish.communities.extend(communities)),
            "peers" => items(&row.value, |text| destination(text).map_err(str::to_owned)).and_then(|peers| {
                wish.peers = Some(peers.into_iter().collect());
                if wish.peers.as_ref().is_some_and(|peers| peers.is_empty()) {
                    return Err(
                        "it names nobody; to advertise nothing, write `advertise: \"false\"`".to_owned()
                    );
                }
                Ok(())
            }),
            _ => Err("there are only `advertise`, `communities` and `peers`".to_owned()),
        };
        read.map_err(|fault| format!("annotation {DOMAIN}/{name}: {fault}"))?;
    }
    Ok(wish)
}

fn flag(text: &str) -> Result<bool, String> {
    match text.trim() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("`{text}` is neither `true` nor `false`")),
    }
}

fn communities(text: &str, of: Option<&[u32]>) -> Result<Vec<Community>, String> {
    items(text, |text| {
        let community: Community = text.parse().map_err(|error| format!("{error}"))?;
        let number = match community {
            Community::Standard(number, _) => number.into(),
            Community::Large(number, _, _) => number,
        };
        if of.is_some_and(|of| !of.contains(&number)) {
            return Err(format!("a community of {number}, which `communities_of` does not have"));
        }
        Ok(community)
    })
}

/// Items with commas or spaces between them.
fn items<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    let texts = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|text| !text.is_empty());
    let mut found = Vec::new();
    for text in texts {
        if found.len() == MOST {
            return Err(format!("it has more than {MOST} items"));
        }
        found.push(read(text).map_err(|fault| format!("`{text}` is {fault}"))?);
    }
    Ok(found)
}
