//! Filters and peerings, and the place of each peering in the snapshot.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Dirty;
use crate::bird::Warning;
use crate::engine::model::{CollectionId, Item};
use crate::engine::peerings::{Context, Pass, PeeringKey};
use crate::engine::writer::Writer;
use crate::engine::{Engine, Placed, keys, sessions};
use crate::resources::{Kind, ObjectError, ObjectKey};
use crate::types::{Family, Name, ValueError};

impl Engine {
    pub(super) fn settle_filters(&mut self, dirty: &mut Dirty, writer: &mut Writer) {
        for (name, filter) in std::mem::take(&mut dirty.filters) {
            let key = ObjectKey::global(Kind::BgpFilter, name.clone());
            let json = filter.as_ref().and_then(Option::as_ref).map(|filter| filter.json.clone());
            writer.view.put(&mut self.snapshot.view, &keys::filter(&name), json.as_deref());
            let change = self.filters.set(&name, filter.as_ref().map(Option::as_ref));
            self.reports.clear(&key, "rules");
            for Warning { field, reason } in change.warnings {
                let error = ObjectError::new(&key, field, "", &ValueError::new(reason));
                self.reports.warn(&key, "rules", error);
            }
            for (family, functions) in Family::ALL.into_iter().zip(change.functions) {
                let item = functions.map(Item::from);
                writer.put(&mut self.snapshot.models, family, CollectionId::Filters, name.shared(), item);
            }
            if change.calls {
                let peers: Vec<Name> = self.peerings.with_filter(name.as_str()).cloned().collect();
                for peer in peers {
                    dirty.peers.insert(ObjectKey::global(Kind::BgpPeer, peer));
                }
            }
        }
    }

    pub(super) fn settle_peerings(&mut self, dirty: &mut Dirty, writer: &mut Writer, all_sessions: bool) {
        for (name, spec) in std::mem::take(&mut dirty.specs) {
            let (nodes, selectors) = (&self.nodes, &mut self.selectors);
            self.peerings.set(&name, spec, nodes, selectors, &mut self.reports, &mut self.work);
            dirty.peerings.peer(name);
        }
        for secret in &dirty.secrets {
            for name in self.peerings.with_secret(secret.as_str()) {
                dirty.peerings.peer(name.clone());
            }
        }
        self.report_filters(&dirty.peers);
        let context = Context {
            settings: &self.settings,
            nodes: &self.nodes,
            configurations: &self.configurations,
            as_number: self.effective.as_number,
            secrets: &self.secrets,
        };
        let peerings = std::mem::take(&mut dirty.peerings);
        let mut changed =
            self.peerings.refresh(peerings, &context, &self.selectors, &mut self.reports, &mut self.work);
        if all_sessions {
            changed.extend(self.peerings.keys().copied());
        }
        for key in &dirty.peers {
            changed.extend(self.peerings.keys_of(key.name.as_str()).copied());
        }
        for key in changed {
            self.place(key, writer);
        }
    }

    /// Warns of filters that BGPPeers name and that do not exist.
    fn report_filters(&mut self, peers: &BTreeSet<ObjectKey>) {
        for key in peers {
            self.reports.clear(key, "filters");
            for filter in self.peerings.filters_of(key.name.as_str()) {
                if !self.filters.exists(filter.as_str()) {
                    let reason = ValueError::new("there is no BGPFilter of this name; it is skipped");
                    let error = ObjectError::new(key, "spec.filters", filter.as_str(), &reason);
                    self.reports.warn(key, "filters", error);
                }
            }
        }
    }

    /// Brings a peering, as it is now, into the view and the model.
    fn place(&mut self, key: PeeringKey, writer: &mut Writer) {
        self.work.peers_computed += 1;
        let family = Family::of(key.0);
        let mut placed = Placed::default();
        let mut session = None;
        let mut gateway = None;
        let mut value = None;
        if let Some((owner, peering)) = self.peerings.winner(&key) {
            let global = owner.pass == Pass::Global;
            let view_key = match owner.pass {
                Pass::Global => keys::global_peer(key.0, key.1),
                Pass::Node | Pass::Reverse => keys::node_peer(&self.settings.node, key.0, key.1),
            };
            placed.view_key = Some(view_key.into());
            value = Some(peering);
            session =
                sessions::explicit(owner, peering, self.own[family.index()].as_ref(), &self.filters).ok();
            placed.session = session.as_ref().map(|peer| peer.name.clone());
            gateway = sessions::gateway(peering);
            if gateway.is_some() {
                placed.gateway =
                    Some(if global { CollectionId::GlobalGateways } else { CollectionId::NodeGateways });
            }
        }
        let view = &mut self.snapshot.view;
        let models = &mut self.snapshot.models;
        let gateway_key = || -> Arc<str> {
            match key.1 {
                Some(port) => format!("{}-{port}", key.0).into(),
                None => key.0.to_string().into(),
            }
        };
        if let Some(old) = self.placed.get(&key) {
            if let Some(view_key) = old.view_key.as_ref().filter(|_| old.view_key != placed.view_key) {
                writer.view.put(view, view_key, None);
            }
            if let Some(name) = old.session.as_ref().filter(|_| old.session != placed.session) {
                writer.put(models, family, CollectionId::Peers, name.clone(), None);
            }
            if let Some(id) = old.gateway.filter(|_| old.gateway != placed.gateway) {
                writer.put(models, family, id, gateway_key(), None);
            }
        }
        if let (Some(peering), Some(view_key)) = (value, &placed.view_key) {
            let hidden = sessions::json(peering, false);
            match peering.password.clone() {
                Some(password) => {
                    let full = sessions::json(peering, true).into();
                    writer.view.put_secret(view, view_key, &hidden, full, password);
                }
                None => drop(writer.view.put(view, view_key, Some(&hidden))),
            }
        }
        if let (Some(peer), Some(name)) = (session, &placed.session) {
            writer.put(models, family, CollectionId::Peers, name.clone(), Some(peer.into()));
        }
        if let (Some(gateway), Some(id)) = (gateway, placed.gateway) {
            writer.put(models, family, id, gateway_key(), Some(Item::Gateway(gateway)));
        }
        if placed == Placed::default() {
            self.placed.remove(&key);
        } else {
            self.placed.insert(key, placed);
        }
    }
}
