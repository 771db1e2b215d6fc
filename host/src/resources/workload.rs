use std::fmt::Write as _;
use std::net::IpAddr;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::{Kind, ObjectError, ObjectKey, Parsed, Resource};
use crate::types::{Family, InterfaceAddress, Name, ValueError};

/// A local workload that peers with this node, from a status file that Calico's node agent writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkloadStatus {
    /// The file's name, which identifies the workload.
    pub name: Name,
    /// The BGPPeer that it belongs to (`bgpPeerName`); none when the workload does not peer.
    pub peer: Option<Name>,
    /// The first of `ipv4Nets`.
    pub ipv4: Option<IpAddr>,
    /// The first of `ipv6Nets`.
    pub ipv6: Option<IpAddr>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatusFile {
    #[serde(default)]
    ipv4_nets: Option<Vec<String>>,
    #[serde(default)]
    ipv6_nets: Option<Vec<String>>,
    #[serde(default)]
    bgp_peer_name: Option<String>,
}

/// Reads a status file of a local workload.
///
/// Its key's name is the file's name. If that is no object name, characters that cannot stand in one become `_`, and
/// the start of the SHA-256 of the file's name is appended, so that two files never share a key.
pub fn parse_workload(file_name: &str, bytes: &[u8]) -> Parsed {
    let name = workload_name(file_name);
    let key = ObjectKey::global(Kind::Workload, name);
    let resource = read(&key, bytes).map(Resource::Workload);
    Parsed { key, resource, warnings: Vec::new() }
}

fn read(key: &ObjectKey, bytes: &[u8]) -> Result<WorkloadStatus, ObjectError> {
    let file: StatusFile = serde_json::from_slice(bytes).map_err(|error| {
        ObjectError::new(key, "", "", &ValueError::new(format!("not a status file: {error}")))
    })?;
    let address = |field: &str, nets: &Option<Vec<String>>, family: Family| match nets.as_deref() {
        Some([first, ..]) => match first.parse::<InterfaceAddress>() {
            Ok(address) if address.family() == family => Ok(Some(address.ip())),
            Ok(_) => {
                let reason = ValueError::new(format!("must be an IP{family} address"));
                Err(ObjectError::new(key, field, first, &reason))
            }
            Err(error) => Err(ObjectError::new(key, field, first, &error)),
        },
        _ => Ok(None),
    };
    let peer = match file.bgp_peer_name.as_deref() {
        None | Some("") => None,
        Some(text) => Some(text.parse().map_err(|error| ObjectError::new(key, "bgpPeerName", text, &error))?),
    };
    Ok(WorkloadStatus {
        name: key.name.clone(),
        peer,
        ipv4: address("ipv4Nets[0]", &file.ipv4_nets, Family::V4)?,
        ipv6: address("ipv6Nets[0]", &file.ipv6_nets, Family::V6)?,
    })
}

fn workload_name(file_name: &str) -> Name {
    // A name that ends like a derived one is derived too: no file can take the key of another.
    let derived_look = file_name.rsplit_once('.').is_some_and(|(_, end)| {
        end.len() == DERIVED_HASH && end.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    });
    if !derived_look && let Ok(name) = file_name.parse() {
        return name;
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let mut text: String = file_name.chars().take(200).map(|c| if allowed(c) { c } else { '_' }).collect();
    text.push('.');
    for byte in &Sha256::digest(file_name.as_bytes())[..DERIVED_HASH / 2] {
        let _ = write!(text, "{byte:02x}");
    }
    match text.parse() {
        Ok(name) => name,
        Err(error) => unreachable!("{text}: {error}"),
    }
}

/// The number of hexadecimal digits that a derived name ends with.
const DERIVED_HASH: usize = 16;
