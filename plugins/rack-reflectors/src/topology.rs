use std::net::IpAddr;

use tailorbird_guest::{AsNumber, Family, Node, Request};

use crate::hash::{self, HashedMap};
use crate::settings::Settings;

/// The nodes of one AS, in groups.
pub(crate) struct Topology<'a> {
    /// By name, as in the request.
    pub(crate) members: Vec<Member<'a>>,
    /// The values of the group label; the empty one is that of nodes without the label.
    pub(crate) groups: Vec<&'a str>,
    /// Whether the operator chose reflectors.
    pub(crate) chosen: bool,
}

/// A node.
pub(crate) struct Member<'a> {
    pub(crate) node: Node<'a>,
    pub(crate) hash: u64,
    /// Its place in the groups.
    pub(crate) group: usize,
    /// Whether the operator chose it as a reflector: by the label, or by a cluster id of its own.
    pub(crate) chosen: bool,
    /// Whether it has an address of each family.
    has: [bool; 2],
}

impl Member<'_> {
    pub(crate) fn has(&self, family: Family) -> bool {
        self.has[usize::from(family == Family::V6)]
    }

    pub(crate) fn address(&self, family: Family) -> Option<IpAddr> {
        self.node.address(family)
    }
}

impl<'a> Topology<'a> {
    /// The nodes of an AS.
    pub(crate) fn new(request: &Request<'a>, as_number: AsNumber, settings: &Settings) -> Self {
        let mut groups = Vec::new();
        let mut places: HashedMap<usize> = HashedMap::default();
        let mut members = Vec::with_capacity(request.nodes().len());
        for node in request.nodes().filter(|node| node.as_number() == as_number) {
            let group = node.label(&settings.group_label).unwrap_or_default();
            let chosen = node.cluster_id().is_some()
                || node.label(&settings.reflector_label) == Some(&settings.reflector_value);
            let group = *places.entry(hash::of(group)).or_insert_with(|| {
                groups.push(group);
                groups.len() - 1
            });
            members.push(Member {
                node,
                hash: hash::of(node.name()),
                group,
                chosen,
                has: [node.ipv4().is_some(), node.ipv6().is_some()],
            });
        }
        let chosen = members.iter().any(|member| member.chosen);
        Self { members, groups, chosen }
    }
}
