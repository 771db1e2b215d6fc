//! The nodes of the cluster: two sources merged into one node, and what is known of each.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use hashbrown::HashTable;
use imbl::OrdMap;
use rustc_hash::FxHashMap;

use super::hash::hash_of;
use crate::resources::{CalicoNode, KubeNode, Labels, NodeBgp, node_key};
use crate::types::{AsNumber, ClusterId, Family, InterfaceAddress, KeyPattern, Name, Pool, Prefix};

/// Which facts of a node are published.
struct Covered<'a> {
    published: &'a [KeyPattern],
    name: &'a Name,
}

impl Covered<'_> {
    fn fact(&self, fact: &str) -> bool {
        if self.published.is_empty() {
            return false;
        }
        let key = node_key(self.name, fact);
        self.published.iter().any(|pattern| pattern.covers(&key))
    }

    fn annotations(&self, mut annotations: Labels) -> Labels {
        annotations.retain(|key, _| self.fact(&format!("annotations/{key}")));
        annotations
    }
}

/// What a source says of a node: nothing, something, or something that cannot be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Said {
    /// There is no such object.
    #[default]
    Nothing,
    /// The object.
    Node(Arc<Node>),
    /// The object is malformed, so the node is left out.
    Malformed,
}

/// Whether there is an object that describes a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// There is none.
    Missing,
    /// There is one.
    There,
    /// It is malformed, and so the node is left out.
    Malformed,
}

/// A node as the engine sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub(super) name: Name,
    pub(super) labels: Arc<Labels>,
    pub(super) bgp: NodeBgp,
    pub(super) pod_cidrs: Vec<Prefix>,
    /// The annotations that are published.
    pub(super) annotations: Labels,
    /// Whether the node is cordoned, if that is published.
    pub(super) unschedulable: bool,
}

impl Node {
    /// Calico's Node; of its annotations those that are published.
    pub(super) fn calico(node: CalicoNode, published: &[KeyPattern], texts: &mut Pool) -> Self {
        let covered = Covered { published, name: &node.name };
        Self {
            annotations: covered.annotations(node.annotations),
            unschedulable: false,
            labels: Arc::new(pooled(node.labels, texts)),
            bgp: node.bgp,
            pod_cidrs: node.pod_cidrs,
            name: node.name,
        }
    }

    /// Kubernetes' Node; of its annotations, and whether it is cordoned, what is published.
    pub(super) fn kubernetes(node: KubeNode, published: &[KeyPattern], texts: &mut Pool) -> Self {
        let covered = Covered { published, name: &node.name };
        Self {
            annotations: covered.annotations(node.annotations),
            unschedulable: node.unschedulable && covered.fact("unschedulable"),
            labels: Arc::new(pooled(node.labels, texts)),
            bgp: node.bgp,
            pod_cidrs: node.pod_cidrs,
            name: node.name,
        }
    }

    /// The node's address and network of a family.
    pub(super) fn interface(&self, family: Family) -> Option<&InterfaceAddress> {
        match family {
            Family::V4 => self.bgp.ipv4.as_ref(),
            Family::V6 => self.bgp.ipv6.as_ref(),
        }
    }

    /// The labels.
    pub fn labels(&self) -> &Arc<Labels> {
        &self.labels
    }

    /// The node's own AS number, if it has one.
    pub(crate) fn as_number(&self) -> Option<AsNumber> {
        self.bgp.as_number
    }

    /// The cluster id, if the node is a route reflector.
    pub fn cluster_id(&self) -> Option<ClusterId> {
        self.bgp.cluster_id
    }

    /// The node's address of a family.
    pub fn address(&self, family: Family) -> Option<IpAddr> {
        self.interface(family).map(InterfaceAddress::ip)
    }

    /// The node's addresses of both families.
    pub(super) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        Family::ALL.into_iter().filter_map(|family| self.address(family))
    }

    /// The node's address in WireGuard's network.
    pub(super) fn wireguard(&self, family: Family) -> Option<IpAddr> {
        match family {
            Family::V4 => self.bgp.wireguard_ipv4.map(IpAddr::from),
            Family::V6 => self.bgp.wireguard_ipv6.map(IpAddr::from),
        }
    }

    /// Whether everything that a peering with the node depends on is the same, labels aside.
    fn same_facts(&self, other: &Node) -> bool {
        self.bgp == other.bgp
    }
}

#[cfg(test)]
impl Node {
    /// A node of which no more is said.
    pub(super) fn of(name: &Name, bgp: NodeBgp) -> Arc<Self> {
        Arc::new(Self {
            name: name.clone(),
            labels: Arc::default(),
            bgp,
            pod_cidrs: Vec::new(),
            annotations: Labels::new(),
            unschedulable: false,
        })
    }
}

/// What happened to a node.
#[derive(Debug)]
pub(super) struct NodeChange {
    pub(super) name: Name,
    pub(super) old: Option<Arc<Node>>,
    pub(super) new: Option<Arc<Node>>,
}

impl NodeChange {
    /// Whether facts other than labels and pod CIDRs differ.
    pub(super) fn facts(&self) -> bool {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) => !old.same_facts(new),
            _ => true,
        }
    }

    /// The addresses before and after.
    pub(super) fn addresses(&self) -> BTreeSet<IpAddr> {
        let both = [&self.old, &self.new];
        let nodes = both.into_iter().flatten();
        nodes.flat_map(|node| node.addresses()).collect()
    }
}

/// All nodes.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    sources: FxHashMap<Name, [Said; 2]>,
    nodes: OrdMap<Name, Arc<Node>>,
    by_address: ByAddress,
}

/// The place of each source in [`Nodes::sources`].
#[derive(Debug, Clone, Copy)]
pub(super) enum Source {
    Calico = 0,
    Kubernetes = 1,
}

impl Nodes {
    /// Takes what a source says of a node; the node itself follows in [`Nodes::refresh`].
    pub(super) fn say(&mut self, name: &Name, source: Source, said: Said) {
        let entry = self.sources.entry(name.clone()).or_default();
        entry[source as usize] = said;
        if *entry == [Said::Nothing, Said::Nothing] {
            self.sources.remove(name);
        }
    }

    /// Merges what is said of a node; tells what changed, if anything did.
    pub(super) fn refresh(&mut self, name: &Name, use_pod_cidr: bool) -> Option<NodeChange> {
        let new = self.sources.get(name).and_then(|said| merge(said, use_pod_cidr));
        let old = self.nodes.get(name).cloned();
        if old == new {
            return None;
        }
        if let Some(old) = &old {
            self.by_address.remove(old);
        }
        match &new {
            Some(node) => {
                self.by_address.insert(node);
                self.nodes.insert(name.clone(), node.clone());
            }
            None => drop(self.nodes.remove(name)),
        }
        Some(NodeChange { name: name.clone(), old, new })
    }

    /// What the sources say of a node: Calico's, then Kubernetes'.
    pub(super) fn presence(&self, name: &str) -> [Presence; 2] {
        let Some(said) = self.sources.get(name) else { return [Presence::Missing; 2] };
        [&said[0], &said[1]].map(|said| match said {
            Said::Nothing => Presence::Missing,
            Said::Node(_) => Presence::There,
            Said::Malformed => Presence::Malformed,
        })
    }

    /// A node.
    pub(super) fn get(&self, name: &str) -> Option<&Arc<Node>> {
        self.nodes.get(name)
    }

    /// All nodes as a map that shares its parts with later states of itself.
    pub(super) fn map(&self) -> &OrdMap<Name, Arc<Node>> {
        &self.nodes
    }

    /// All nodes, by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Name, &Arc<Node>)> {
        self.nodes.iter()
    }

    /// Whether a node has an address.
    pub(super) fn has_address(&self, name: &Name, ip: IpAddr) -> bool {
        self.nodes.get(name).is_some_and(|node| node.address(Family::of(ip)) == Some(ip))
    }

    /// The nodes that have an address, by name.
    pub(super) fn with_address(&self, ip: IpAddr) -> impl Iterator<Item = &Name> {
        self.by_address.get(ip).into_iter().map(|node| &node.name)
    }
}

/// The nodes by their addresses, nearly always one each. A table of the addresses themselves would be three times as large.
#[derive(Debug, Default)]
struct ByAddress([HashTable<Arc<Node>>; 2]);

impl ByAddress {
    fn insert(&mut self, node: &Arc<Node>) {
        for family in Family::ALL {
            let hash = |node: &Arc<Node>| node.address(family).map_or(0, hash_of);
            if node.address(family).is_some() {
                self.0[family.index()].insert_unique(hash(node), node.clone(), hash);
            }
        }
    }

    fn remove(&mut self, node: &Arc<Node>) {
        for ip in node.addresses() {
            let table = &mut self.0[Family::of(ip).index()];
            if let Ok(entry) = table.find_entry(hash_of(ip), |known| Arc::ptr_eq(known, node)) {
                entry.remove();
            }
        }
    }

    /// The nodes with an address, by name.
    fn get(&self, ip: IpAddr) -> Vec<&Node> {
        let family = Family::of(ip);
        let alike = self.0[family.index()].iter_hash(hash_of(ip)).map(|node| &**node);
        let mut nodes: Vec<&Node> = alike.filter(|node| node.address(family) == Some(ip)).collect();
        nodes.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        nodes
    }
}

/// The labels, each text kept once for all nodes.
fn pooled(labels: Labels, texts: &mut Pool) -> Labels {
    let mut pairs = labels.into_tuple_vec();
    for (key, value) in &mut pairs {
        *key = texts.share(std::mem::take(key));
        *value = texts.share(std::mem::take(value));
    }
    pairs.shrink_to_fit();
    Labels::from_sorted_store_unchecked(pairs)
}

fn merge(said: &[Said; 2], use_pod_cidr: bool) -> Option<Arc<Node>> {
    let mut node = match said {
        [Said::Malformed, _] | [_, Said::Malformed] | [Said::Nothing, Said::Nothing] => return None,
        [Said::Node(one), Said::Nothing] | [Said::Nothing, Said::Node(one)] => one.clone(),
        [Said::Node(calico), Said::Node(kubernetes)] => {
            let over = |calico: &Labels, kubernetes: &Labels| {
                let mut both = calico.clone();
                both.extend(kubernetes.iter().map(|(key, value)| (key.clone(), value.clone())));
                both
            };
            let pod_cidrs =
                if calico.pod_cidrs.is_empty() { &kubernetes.pod_cidrs } else { &calico.pod_cidrs }.clone();
            Arc::new(Node {
                name: calico.name.clone(),
                labels: Arc::new(over(&calico.labels, &kubernetes.labels)),
                bgp: calico.bgp.clone(),
                pod_cidrs,
                annotations: over(&calico.annotations, &kubernetes.annotations),
                unschedulable: kubernetes.unschedulable,
            })
        }
    };
    if use_pod_cidr
        && node.bgp.has_wireguard_key
        && let Some(address) = first_address_of_pods(&node.pod_cidrs)
    {
        Arc::make_mut(&mut node).bgp.wireguard_ipv4 = Some(address);
    }
    Some(node)
}

/// The tunnel address of a node whose addresses come from its pod CIDR: the one after the network's own.
fn first_address_of_pods(pod_cidrs: &[Prefix]) -> Option<std::net::Ipv4Addr> {
    match pod_cidrs.first()?.net() {
        ipnet::IpNet::V4(net) => u32::from(net.network()).checked_add(1).map(Into::into),
        ipnet::IpNet::V6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, v4: Option<&str>, v6: Option<&str>) -> Arc<Node> {
        let address = |text: Option<&str>| text.map(|text| text.parse().expect("an address"));
        let bgp = NodeBgp { ipv4: address(v4), ipv6: address(v6), ..NodeBgp::default() };
        Node::of(&name.parse().expect("a name"), bgp)
    }

    #[test]
    fn an_address_leads_to_all_nodes_that_have_it_by_name() {
        let mut nodes = Nodes::default();
        let mut take = |node: Option<Arc<Node>>, name: &str, expected: [&[&str]; 3]| {
            let name: Name = name.parse().expect("a name");
            nodes.say(&name, Source::Calico, node.map_or(Said::Nothing, Said::Node));
            nodes.refresh(&name, false);
            for (ip, expected) in ["10.0.0.1", "10.0.0.2", "fd00::1"].into_iter().zip(expected) {
                let ip: IpAddr = ip.parse().expect("an address");
                let found: Vec<&str> = nodes.with_address(ip).map(Name::as_str).collect();
                assert_eq!(found, expected, "{ip}");
                for name in ["a", "b", "c"] {
                    let name = name.parse().expect("a name");
                    assert_eq!(
                        nodes.has_address(&name, ip),
                        expected.contains(&name.as_str()),
                        "{ip} {name}"
                    );
                }
            }
        };
        let (one, two, six) = (Some("10.0.0.1/24"), Some("10.0.0.2/24"), Some("fd00::1/64"));
        take(Some(node("b", one, six)), "b", [&["b"], &[], &["b"]]);
        take(Some(node("c", one, None)), "c", [&["b", "c"], &[], &["b"]]);
        take(Some(node("a", one, six)), "a", [&["a", "b", "c"], &[], &["a", "b"]]);
        take(Some(node("b", two, six)), "b", [&["a", "c"], &["b"], &["a", "b"]]);
        take(Some(node("b", two, six)), "b", [&["a", "c"], &["b"], &["a", "b"]]);
        take(Some(node("a", None, None)), "a", [&["c"], &["b"], &["b"]]);
        take(None, "c", [&[], &["b"], &["b"]]);
        take(None, "b", [&[], &[], &[]]);
    }
}
