//! IP pools, and the blocks of addresses that this node has.

use std::collections::BTreeMap;

use serde_json::json;

use super::claims::Claims;
use crate::resources::{BlockAffinity, BlockState, EncapMode, IpPool, ObjectError, ObjectKey, Text};
use crate::types::{Name, Prefix};

/// All pools, by prefix; of two with one prefix the lower name counts.
#[derive(Debug, Default)]
pub(super) struct Pools {
    claims: Claims<Text, Name, IpPool>,
    prefixes: BTreeMap<Text, ()>,
    malformed: BTreeMap<ObjectKey, ObjectError>,
}

impl Pools {
    /// Takes a pool, that it is malformed, or that it is gone; returns the prefixes that this can matter to.
    pub(super) fn set(&mut self, key: &ObjectKey, pool: Option<Result<IpPool, ObjectError>>) -> Vec<Text> {
        self.malformed.remove(key);
        let pool = match pool {
            Some(Ok(pool)) => Some(pool),
            Some(Err(error)) => {
                self.malformed.insert(key.clone(), error);
                None
            }
            None => None,
        };
        let mut changed = Vec::new();
        let claims = pool.map(|pool| (pool.cidr.text(), pool)).into_iter().collect();
        self.claims.replace(&key.name, claims, |text| changed.push(text.clone()));
        for text in &changed {
            match self.claims.winner(text) {
                Some(_) => drop(self.prefixes.insert(text.clone(), ())),
                None => drop(self.prefixes.remove(text)),
            }
        }
        changed
    }

    /// The pool that counts for a prefix.
    pub(super) fn get(&self, text: &Text) -> Option<&IpPool> {
        self.claims.winner(text).map(|(_, pool)| pool)
    }

    /// The pools that count, each with its object's name.
    pub(super) fn named(&self) -> impl Iterator<Item = (&Name, &IpPool)> {
        self.prefixes.keys().filter_map(|text| self.claims.winner(text))
    }

    /// The pools that count.
    pub(super) fn iter(&self) -> impl Iterator<Item = &IpPool> {
        self.prefixes.keys().filter_map(|text| self.get(text))
    }

    /// The pools that are malformed.
    pub(super) fn malformed(&self) -> impl Iterator<Item = &ObjectError> {
        self.malformed.values()
    }
}

/// A pool's value in the view.
pub(super) fn json(pool: &IpPool) -> String {
    let mut value = json!({
        "cidr": pool.cidr,
        "ipip": if pool.ipip == EncapMode::Never { "" } else { "tunl0" },
        "ipip_mode": pool.ipip.as_str(),
        "vxlan_mode": pool.vxlan.as_str(),
        "masquerade": pool.nat_outgoing,
        "ipam": !pool.disabled,
        "disabled": pool.disabled,
        "disableBGPExport": pool.disable_bgp_export,
        "assignment_mode": if pool.manual_assignment { "Manual" } else { "Automatic" },
    });
    if !pool.allowed_uses.is_empty() {
        value["allowed_uses"] = json!(pool.allowed_uses);
    }
    value.to_string()
}

/// A block of this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnBlock {
    pub(super) cidr: Prefix,
    pub(super) state: BlockState,
}

/// Where a block comes from; an affinity object, or the node's pod CIDRs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum BlockOwner {
    Affinity(Name),
    PodCidrs,
}

/// Why a BlockAffinity of this node counts for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoBlock {
    /// It is another node's.
    OtherNode,
    /// It is marked as deleted.
    Deleted,
    /// It is virtual.
    Virtual,
    /// Its state is `pending`.
    Pending,
}

/// What a BlockAffinity comes to on a node.
pub(super) fn own_block(block: &BlockAffinity, node: &Name) -> Result<OwnBlock, NoBlock> {
    if block.node != *node {
        return Err(NoBlock::OtherNode);
    }
    if block.deleted {
        return Err(NoBlock::Deleted);
    }
    if block.is_virtual {
        return Err(NoBlock::Virtual);
    }
    if block.state == BlockState::Pending {
        return Err(NoBlock::Pending);
    }
    Ok(OwnBlock { cidr: block.cidr.clone(), state: block.state })
}

/// This node's blocks, by the text of the prefix.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    claims: Claims<Text, BlockOwner, OwnBlock>,
    /// The node's BlockAffinities that count for nothing.
    passed_over: BTreeMap<Name, (Prefix, NoBlock)>,
}

impl Blocks {
    /// Replaces the blocks that come from one owner; returns the prefixes that this can matter to.
    pub(super) fn set(&mut self, owner: &BlockOwner, blocks: Vec<OwnBlock>) -> Vec<Text> {
        let mut changed = Vec::new();
        let claims = blocks.into_iter().map(|block| (block.cidr.text(), block)).collect();
        self.claims.replace(owner, claims, |text| changed.push(text.clone()));
        changed
    }

    /// Takes a BlockAffinity as it is on a node, or that it is gone; returns the prefixes that this can matter to.
    pub(super) fn set_affinity(
        &mut self,
        name: &Name,
        block: Option<&BlockAffinity>,
        node: &Name,
    ) -> Vec<Text> {
        self.passed_over.remove(name);
        let own = match block.map(|block| (block, own_block(block, node))) {
            Some((_, Ok(own))) => Some(own),
            Some((_, Err(NoBlock::OtherNode))) | None => None,
            Some((block, Err(why))) => {
                self.passed_over.insert(name.clone(), (block.cidr.clone(), why));
                None
            }
        };
        self.set(&BlockOwner::Affinity(name.clone()), own.into_iter().collect())
    }

    /// The node's BlockAffinities that count for nothing, by name.
    pub(super) fn passed_over(&self) -> impl Iterator<Item = (&Name, &Prefix, NoBlock)> {
        self.passed_over.iter().map(|(name, (cidr, why))| (name, cidr, *why))
    }

    /// Where the block of a prefix comes from; the first one counts.
    pub(super) fn owners(&self, text: &Text) -> impl Iterator<Item = &BlockOwner> {
        self.claims.of(text).map(|(owner, _)| owner)
    }

    /// The block of a prefix.
    pub(super) fn get(&self, text: &Text) -> Option<&OwnBlock> {
        self.claims.winner(text).map(|(_, block)| block)
    }
}

/// A block's value in the view.
pub(super) fn block_json(block: &OwnBlock) -> String {
    json!({ "state": block.state.as_str(), "deleted": false }).to_string()
}
