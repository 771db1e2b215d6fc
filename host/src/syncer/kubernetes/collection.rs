//! What is asked for: the objects of a kind, or some of them.

use sha3::{Digest, Sha3_256};

use super::groups::CalicoGroup;
use crate::resources::Kind;
use crate::types::Name;

/// Objects of a kind, as the API server lists and watches them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Collection {
    pub(super) kind: Kind,
    /// The group that Calico's objects are in; of no matter for others.
    pub(super) group: CalicoGroup,
    /// Only this namespace.
    pub(super) namespace: Option<Name>,
    /// The objects that are selected, as a part of the query.
    pub(super) selected: Option<String>,
    /// The node whose objects matter, for a kind of which others' do not.
    pub(super) node: Option<Name>,
}

/// The label of a BlockAffinity that tells its node.
const HOSTNAME_HASH: &str = "projectcalico.org/hostname-hash";

impl Collection {
    /// All objects of a kind.
    pub(super) fn all(kind: Kind) -> Self {
        Self { kind, group: CalicoGroup::Crd, namespace: None, selected: None, node: None }
    }

    /// The BlockAffinities of a node that are labelled, and apart from them all that are not.
    pub(super) fn blocks_of(node: &Name) -> [Self; 2] {
        let of = |selector: String| Self {
            selected: Some(format!("labelSelector={selector}")),
            node: Some(node.clone()),
            ..Self::all(Kind::BlockAffinity)
        };
        let label = HOSTNAME_HASH.replace('/', "%2F");
        [of(format!("{label}%3D{}", hostname_hash(node))), of(format!("%21{label}"))]
    }

    /// A single Secret.
    pub(super) fn secret(namespace: &Name, name: &Name) -> Self {
        Self {
            namespace: Some(namespace.clone()),
            selected: Some(format!("fieldSelector=metadata.name%3D{name}")),
            ..Self::all(Kind::Secret)
        }
    }

    /// Whether Calico brings the kind.
    pub(super) fn is_calicos(&self) -> bool {
        matches!(
            self.kind,
            Kind::BgpConfiguration | Kind::BgpPeer | Kind::BgpFilter | Kind::IpPool | Kind::BlockAffinity
        )
    }

    /// Whether the rest may be rendered although this was never allowed to be read: routes to Services, and passwords,
    /// of which no session comes up without the right one.
    pub(super) fn can_be_done_without(&self) -> bool {
        matches!(self.kind, Kind::Service | Kind::EndpointSlice | Kind::Secret)
    }

    /// The API's name of the resource.
    pub(super) fn resource(&self) -> &'static str {
        match self.kind {
            Kind::KubeNode | Kind::CalicoNode => "nodes",
            Kind::BgpConfiguration => "bgpconfigurations",
            Kind::BgpPeer => "bgppeers",
            Kind::BgpFilter => "bgpfilters",
            Kind::IpPool => "ippools",
            Kind::BlockAffinity => "blockaffinities",
            Kind::Service => "services",
            Kind::EndpointSlice => "endpointslices",
            Kind::Secret => "secrets",
            Kind::Workload => "endpointstatuses",
        }
    }

    /// `apiVersion` of the objects.
    pub(super) fn api_version(&self) -> &'static str {
        match self.kind {
            _ if self.is_calicos() => self.group.as_str(),
            Kind::EndpointSlice => "discovery.k8s.io/v1",
            _ => "v1",
        }
    }

    /// The path to list and watch at, with the selection; further parameters go behind it.
    pub(super) fn path(&self) -> String {
        let version = self.api_version();
        let root = if version == "v1" { "/api" } else { "/apis" };
        let namespace = match &self.namespace {
            Some(namespace) => format!("namespaces/{namespace}/"),
            None => String::new(),
        };
        let selected = match &self.selected {
            Some(selected) => format!("{selected}&"),
            None => String::new(),
        };
        format!("{root}/{version}/{namespace}{}?{selected}", self.resource())
    }
}

/// The SHA3-256 of a node's name in base32 without padding.
fn hostname_hash(node: &Name) -> String {
    const DIGITS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let digest = Sha3_256::digest(node.as_str().as_bytes());
    let mut text = String::new();
    let (mut bits, mut count) = (0u32, 0);
    let mut digit = |value: u32| text.push(char::from(DIGITS[(value & 31) as usize]));
    for byte in digest {
        bits = (bits << 8) | u32::from(byte);
        count += 8;
        while count >= 5 {
            count -= 5;
            digit(bits >> count);
        }
    }
    if count > 0 {
        digit(bits << (5 - count));
    }
    text
}

/// A text within a query.
pub(super) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let mut out = String::new();
    for byte in text.bytes() {
        if plain(byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        text.parse().expect("a name")
    }

    #[test]
    fn paths_name_group_namespace_and_selection() {
        let path = |collection: Collection| collection.path();
        assert_eq!(path(Collection::all(Kind::KubeNode)), "/api/v1/nodes?");
        assert_eq!(path(Collection::all(Kind::EndpointSlice)), "/apis/discovery.k8s.io/v1/endpointslices?");
        let pools = Collection { group: CalicoGroup::V3, ..Collection::all(Kind::IpPool) };
        assert_eq!(path(pools), "/apis/projectcalico.org/v3/ippools?");
        assert_eq!(
            path(Collection::secret(&name("kube-system"), &name("bgp"))),
            "/api/v1/namespaces/kube-system/secrets?fieldSelector=metadata.name%3Dbgp&"
        );
    }

    /// The digest of the empty message and of a name, by another implementation.
    #[test]
    fn a_node_is_known_by_the_hash_of_its_name() {
        assert_eq!(hostname_hash(&name("node-1")), "A3XPYDATRKB7Q4SM2O5FN4RXIHBFIL2PITFX26BAIP5XAB2X74CA");
        let [labelled, other] = Collection::blocks_of(&name("node-1"));
        assert!(labelled.path().ends_with(
            "projectcalico.org%2Fhostname-hash%3DA3XPYDATRKB7Q4SM2O5FN4RXIHBFIL2PITFX26BAIP5XAB2X74CA&"
        ));
        assert!(other.path().ends_with("labelSelector=%21projectcalico.org%2Fhostname-hash&"));
    }

    #[test]
    fn a_token_cannot_leave_its_parameter() {
        assert_eq!(encoded("a-Z_9.~&=/+ %é"), "a-Z_9.~%26%3D%2F%2B%20%25%C3%A9");
    }
}
