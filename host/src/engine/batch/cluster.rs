//! The configuration, the nodes, and this node.

use std::sync::Arc;

use super::{Dirty, Rest};
use crate::engine::nodes::Node;
use crate::engine::pools::{BlockOwner, OwnBlock};
use crate::engine::publish::Publisher;
use crate::engine::routes::Advertising;
use crate::engine::sessions::Own;
use crate::engine::writer::Writer;
use crate::engine::{Cluster, Engine, keys, order};
use crate::resources::BlockState;
use crate::types::Family;

/// The label that takes a node out of advertising.
pub(crate) const EXCLUDE_LABEL: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

impl Engine {
    pub(super) fn settle_configuration(&mut self, dirty: &mut Dirty, writer: &mut Writer, rest: &mut Rest) {
        if !dirty.configuration && dirty.node_configurations.is_empty() {
            return;
        }
        if dirty.configuration {
            self.configurations.write_global(&mut self.snapshot.view, &mut writer.view, &mut self.reports);
        }
        for node in &dirty.node_configurations {
            self.configurations.write_node(
                node,
                &mut self.snapshot.view,
                &mut writer.view,
                &mut self.reports,
            );
        }
        writer.view.put(&mut self.snapshot.view, keys::CONFIGURATION_MARK, Some(""));
        writer.view.touch(keys::CONFIGURATION_MARK);
        let new = self.configurations.effective(&self.settings, &mut self.reports);
        let old = std::mem::replace(&mut self.effective, new);
        rest.base |= old != self.effective;
        rest.all_mesh |= dirty.start || self.effective.changes_mesh(&old);
        rest.routes |= dirty.start || self.effective.changes_routes(&old);
        rest.priority |= self.effective.changes_own(&old);
        if self.effective.changes_peers(&old) {
            self.peerings.names().for_each(|name| dirty.peerings.peer(name.clone()));
        }
        for node in &dirty.node_configurations {
            self.peerings.port_changed(
                node,
                &self.nodes,
                &self.selectors,
                &self.settings.node,
                &mut dirty.peerings,
            );
            rest.mesh.extend(self.nodes.get(node.as_str()).into_iter().flat_map(|node| node.addresses()));
        }
    }

    pub(super) fn settle_nodes(&mut self, dirty: &mut Dirty, writer: &mut Writer, rest: &mut Rest) {
        for name in order::filling(std::mem::take(&mut dirty.nodes)) {
            let Some(change) = self.nodes.refresh(&name, self.settings.use_pod_cidr) else { continue };
            writer.view.set_node(&mut self.snapshot.view, &name, change.new.clone());
            let (old, new) = (change.old.as_deref(), change.new.as_deref());
            self.publisher(writer).node(&name, old, new);
            let before: Vec<_> = self.selectors.of_node(name.as_str()).collect();
            let flipped =
                self.selectors.node_changed(&name, change.old.as_ref(), change.new.as_ref(), &mut self.work);
            let this = &self.settings.node;
            self.peerings.node_changed(
                &change,
                &before,
                &flipped,
                &self.selectors,
                this,
                &mut dirty.peerings,
            );
            if name == *this {
                rest.own_node = true;
                let wireguard = |node: &Option<Arc<Node>>| {
                    Family::ALL.map(|family| node.as_ref().and_then(|node| node.wireguard(family)).is_some())
                };
                rest.all_wireguard |= wireguard(&change.old) != wireguard(&change.new);
            } else if change.facts() {
                let addresses = change.addresses();
                rest.wireguard.extend(&addresses);
                rest.mesh.extend(addresses);
            }
        }
    }

    /// This node's own facts: what they are now, and what follows if they are others than before.
    pub(super) fn settle_own(&mut self, dirty: &mut Dirty, rest: &mut Rest) {
        if !(rest.own_node || rest.priority) {
            return;
        }
        let node = self.nodes.get(self.settings.node.as_str()).cloned();
        let own = Family::ALL.map(|family| {
            let node = node.as_ref()?;
            Some(Own {
                family,
                address: node.address(family)?,
                as_number: node.bgp.as_number.unwrap_or(self.effective.as_number),
                cluster_id: node.bgp.cluster_id,
                priority: self.effective.priority(family),
            })
        });
        rest.base = true;
        if own != self.own {
            self.own = own;
            rest.sessions = true;
            rest.all_mesh = true;
        }
        let excluded =
            node.as_ref().is_some_and(|n| n.labels.get(EXCLUDE_LABEL).is_some_and(|v| &**v == "true"));
        let advertising = if excluded { Advertising::Excluded } else { Advertising::Yes };
        if advertising != self.advertising {
            self.advertising = advertising;
            rest.routes = true;
        }
        if rest.own_node && self.settings.use_pod_cidr {
            let cidrs = node.map(|n| n.pod_cidrs.clone()).unwrap_or_default();
            let blocks =
                cidrs.into_iter().map(|cidr| OwnBlock { cidr, state: BlockState::Confirmed }).collect();
            dirty.blocks.extend(self.blocks.set(&BlockOwner::PodCidrs, blocks));
        }
    }

    /// The facts for policies. What is not another is shared with what was there.
    pub(super) fn settle_cluster(&mut self, dirty: &Dirty, writer: &mut Writer) {
        let old = &self.snapshot.cluster;
        let mut ports = old.ports.clone();
        for node in &dirty.node_configurations {
            match self.configurations.own_listen_port(node.as_str()) {
                port if port.as_ref() == ports.get(node) => {}
                Some(port) => drop(ports.insert(node.clone(), port)),
                None => drop(ports.remove(node)),
            }
        }
        let reflectable = Family::ALL.map(|family| {
            let cidrs = self.effective.reflectable(family);
            let old = &old.reflectable[family.index()];
            if old.iter().eq(cidrs) {
                old.clone()
            } else {
                self.effective.reflectable(family).cloned().collect()
            }
        });
        let cluster = Cluster {
            nodes: self.nodes.map().clone(),
            as_number: self.effective.as_number,
            ports,
            port: self.effective.cluster_port,
            filters: self.filters.clone(),
            own: self.own.clone(),
            mesh: self.mesh_facts(),
            reflectable,
        };
        writer.put_cluster(&mut self.snapshot, cluster);
    }

    /// What writes keys for policies.
    pub(super) fn publisher<'a>(&'a mut self, writer: &'a mut Writer) -> Publisher<'a> {
        Publisher {
            published: &self.settings.published,
            labels: &mut self.published_labels,
            view: &mut self.snapshot.view,
            writer: &mut writer.view,
        }
    }
}
