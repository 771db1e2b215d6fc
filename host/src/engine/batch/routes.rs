//! Pools, blocks and the routes of Services.

use std::sync::Arc;

use super::{Dirty, Rest};
use crate::engine::model::{Block, CollectionId, Item, Route, RouteOrigin};
use crate::engine::routes::{Changed, KeptService, ServiceKey};
use crate::engine::view::PrefixList;
use crate::engine::writer::Writer;
use crate::engine::{Engine, Snapshot, base, keys, order, pools};
use crate::resources::BlockState;
use crate::types::{Family, Prefix};

impl Engine {
    pub(super) fn settle_pools(&mut self, dirty: &Dirty, writer: &mut Writer, rest: &Rest) {
        for text in &dirty.pools {
            let Some(key) = text.parse::<Prefix>().ok().map(|cidr| keys::pool(&cidr)) else { continue };
            let json = self.pools.get(text).map(pools::json);
            writer.view.put(&mut self.snapshot.view, &key, json.as_deref());
        }
        if rest.base || dirty.pools_any {
            let node = self.nodes.get(self.settings.node.as_str()).map(|node| &**node);
            for family in Family::ALL {
                let base = base::compute(family, &self.settings, node, &self.effective, self.pools.iter());
                writer.put_base(&mut self.snapshot.models, base);
            }
        }
    }

    pub(super) fn settle_blocks(&mut self, dirty: &Dirty, writer: &mut Writer, rest: &Rest) {
        let mut texts = dirty.blocks.clone();
        if rest.priority {
            for model in &self.snapshot.models {
                texts.extend(model.collection(CollectionId::Blocks).items.values().filter_map(|item| {
                    match &**item {
                        Item::Block(block) => Some(block.prefix.text()),
                        _ => None,
                    }
                }));
            }
        }
        for text in texts {
            let block = self.blocks.get(&text);
            let Some(cidr) = block.map(|b| b.cidr.clone()).or_else(|| text.parse().ok()) else { continue };
            let json = block.map(pools::block_json);
            let key = keys::block(&self.settings.node, &cidr);
            writer.view.put(&mut self.snapshot.view, &key, json.as_deref());
            let item = block.map(|block| {
                Item::Block(Block {
                    prefix: block.cidr.clone(),
                    blackhole: !block.cidr.is_host(),
                    exported: block.state != BlockState::PendingDeletion,
                    confirmed: block.state == BlockState::Confirmed,
                    normal_priority: self.effective.priority(block.cidr.family()),
                })
            });
            let key = cidr.key().into();
            writer.put(&mut self.snapshot.models, cidr.family(), CollectionId::Blocks, key, item);
        }
    }

    pub(super) fn settle_routes(&mut self, dirty: &Dirty, writer: &mut Writer, rest: &Rest) {
        let (mut changed, mut rejects) = (Changed::default(), Vec::new());
        let (config, advertising) = (&self.effective, self.advertising);
        let services: Vec<ServiceKey> = if rest.routes {
            self.routes.refresh_configuration(config, advertising, &mut changed, &mut rejects);
            // All that there are, and of the dirty ones those that are gone.
            let gone = dirty.services.iter().filter(|key| self.routes.service(key).is_none());
            self.routes.services().map(|(key, _)| key).chain(gone).cloned().collect()
        } else {
            dirty.services.iter().cloned().collect()
        };
        for key in &services {
            self.routes.refresh_service(key, config, advertising, &mut changed, &mut self.work);
        }
        for (key, prefix) in order::filling(changed.into_routes()) {
            let origin = self.routes.origins(&prefix).next();
            place_route(&mut self.snapshot, writer, &prefix, key, origin, PrefixList::Routes);
        }
        for prefix in &rejects {
            let origin = self.routes.reject(prefix);
            let key = prefix.key().into();
            place_route(&mut self.snapshot, writer, prefix, key, origin, PrefixList::Rejects);
        }
    }
}

impl Engine {
    /// Writes what policies may read of the Services that changed.
    pub(super) fn publish_services(&mut self, dirty: &Dirty, writer: &mut Writer) {
        if self.settings.published.is_empty() {
            return;
        }
        for key in &dirty.services {
            let new = self.routes.service(key).and_then(KeptService::facts).cloned();
            let old = self.service_facts.remove(key);
            if old != new {
                self.publisher(writer).service(key, old.as_ref(), new.as_ref());
            }
            if let Some(facts) = new {
                self.service_facts.insert(key.clone(), facts);
            }
        }
    }
}

/// Brings a prefix into a list of the view and of the model, or out of it if nothing originates it.
fn place_route(
    snapshot: &mut Snapshot,
    writer: &mut Writer,
    prefix: &Prefix,
    key: Arc<str>,
    origin: Option<RouteOrigin>,
    list: PrefixList,
) {
    let family = prefix.family();
    let id = match list {
        PrefixList::Routes => CollectionId::Routes,
        PrefixList::Rejects => CollectionId::Rejects,
    };
    writer.view.set_prefix(&mut snapshot.view, list, family, &key, origin.is_some());
    let item = origin.map(|origin| Item::Route(Route { prefix: prefix.clone(), origin }));
    writer.put(&mut snapshot.models, family, id, key, item);
}
