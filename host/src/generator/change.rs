use crate::resources::{BlockState, Labels, ObjectKey, Resource, TrafficPolicy};
use crate::types::{Family, Port, Seconds};

use super::ClusterSpec;
use super::objects::{filter_of, key, value, value_of};

/// One object of a cluster that changes. An index counts the objects of the kind; for pools and blocks, IPv4's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// A node's addresses move within its rack's networks, and back.
    NodeAddress(u32),
    /// A node moves to the next rack of its zone by its label `rack`, and back.
    NodeLabel(u32),
    /// Another `maxRestartTime` of a peer outside the cluster.
    Peer(u32),
    /// Another priority that a filter's first IPv4 export rule asks for.
    Filter(u32),
    /// Another traffic policy of a Service.
    Service(u32),
    /// The first endpoint of a slice becomes unready, or ready again.
    Slice(u32),
    /// A pool is no longer exported, or is again.
    Pool(u32),
    /// A block is about to be released, or not any longer.
    Block(u32),
    /// Another listen port of all nodes.
    Configuration,
    /// Another password.
    Secret(u32),
}

impl ClusterSpec {
    /// The object that changes, as it is in a round; none where the cluster has no object with this index.
    ///
    /// In round 0 it is as [`objects`](Self::objects) gives it, and in each other round it differs from the round
    /// before. Each change starts from the generated cluster: two changes of one object do not add up.
    pub fn change(&self, change: Change, round: u32) -> Option<(ObjectKey, Resource)> {
        let odd = round % 2 == 1;
        let within = |i: u32, count: u32| (i < count).then_some(i);
        let resource = match change {
            Change::NodeAddress(i) => {
                let mut node = self.node(within(i, self.nodes)?);
                let (v4, v6) = self.node_addresses(i, odd);
                node.bgp.ipv4 = Some(value(format!("{v4}/22")));
                node.bgp.ipv6 = self.dual_stack.then(|| value(format!("{v6}/64")));
                Resource::KubeNode(node)
            }
            Change::NodeLabel(i) => {
                let mut node = self.node(within(i, self.nodes)?);
                if odd {
                    self.move_to_next_rack(i, &mut node.labels);
                }
                Resource::KubeNode(node)
            }
            Change::Peer(i) => {
                let mut peer = self.peer(within(i, self.peers)?);
                if round > 0 {
                    peer.max_restart_time = Some(Seconds(100 + round % 200));
                }
                Resource::BgpPeer(Box::new(peer))
            }
            Change::Filter(i) => {
                let mut changed = self.filter(within(i, self.filters)?);
                if round > 0 {
                    changed.v4.export.first_mut()?.priority = Some(value_of(3000 + round % 1000));
                }
                Resource::BgpFilter(filter_of(changed.name, changed.v4, changed.v6))
            }
            Change::Service(i) => {
                let mut service = self.service(within(i, self.services)?);
                if odd {
                    service.traffic_policy = match service.traffic_policy {
                        TrafficPolicy::Local => TrafficPolicy::Cluster,
                        _ => TrafficPolicy::Local,
                    };
                }
                Resource::Service(Box::new(service))
            }
            Change::Slice(i) => {
                let mut slice = self.slice(within(i, self.services * self.slices_per_service)?);
                slice.endpoints.first_mut()?.ready ^= odd;
                Resource::EndpointSlice(slice)
            }
            Change::Pool(i) => {
                let mut pool = self.pool(Family::V4, within(i, self.pools)?);
                pool.disable_bgp_export ^= odd;
                Resource::IpPool(pool)
            }
            Change::Block(i) => {
                let mut block = self.block(Family::V4, within(i, self.nodes * self.blocks_per_node)?);
                if odd {
                    block.state = match block.state {
                        BlockState::PendingDeletion => BlockState::Confirmed,
                        _ => BlockState::PendingDeletion,
                    };
                }
                Resource::BlockAffinity(block)
            }
            Change::Configuration => {
                let mut configuration = self.configuration();
                if round > 0 {
                    configuration.listen_port = Port::new(1000 + (round % 10_000) as u16);
                }
                Resource::BgpConfiguration(Box::new(configuration))
            }
            Change::Secret(i) => Resource::Secret(self.secret_in_round(within(i, self.secrets)?, round)),
        };
        Some((key(&resource), resource))
    }

    fn move_to_next_rack(&self, node: u32, labels: &mut Labels) {
        let zone = node % self.zones;
        let rack = node / self.zones + 1;
        // A zone with one rack gets an empty second one.
        let rack = if self.racks_per_zone > 1 { rack % self.racks_per_zone } else { 1 };
        labels.insert("rack".into(), self.rack_name(zone, rack).into());
    }
}
