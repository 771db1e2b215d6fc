use super::ObjectKey;
use super::field::{Field, Read};
use crate::types::{Name, Prefix};

/// `state` of a block affinity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockState {
    /// Empty: implicitly confirmed.
    Unset,
    /// `confirmed`.
    Confirmed,
    /// `pending`: counts as absent.
    Pending,
    /// `pendingDeletion`: still routed here, no longer exported.
    PendingDeletion,
}

impl BlockState {
    /// The state as the API writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            BlockState::Unset => "",
            BlockState::Confirmed => "confirmed",
            BlockState::Pending => "pending",
            BlockState::PendingDeletion => "pendingDeletion",
        }
    }
}

/// BlockAffinity: a block of addresses that belongs to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockAffinity {
    /// The object's name.
    pub name: Name,
    /// The block, in its canonical spelling.
    pub cidr: Prefix,
    /// The node that has it.
    pub node: Name,
    /// `state`.
    pub state: BlockState,
    /// `deleted: "true"` (text or boolean): counts as absent.
    pub deleted: bool,
    /// `type: virtual`: counts for nothing here.
    pub is_virtual: bool,
}

/// Reads a BlockAffinity.
pub(super) fn read(key: &ObjectKey, root: &Field<'_>) -> Read<BlockAffinity> {
    let spec = root.get("spec")?;
    let cidr = spec.get("cidr")?;
    let node = spec.get("node")?;
    Ok(BlockAffinity {
        name: key.name.clone(),
        cidr: cidr.parse::<Prefix>()?.ok_or_else(|| cidr.missing())?.canonical(),
        node: node.parse()?.ok_or_else(|| node.missing())?,
        state: spec
            .get("state")?
            .one_of(&[
                ("confirmed", BlockState::Confirmed),
                ("pending", BlockState::Pending),
                ("pendingDeletion", BlockState::PendingDeletion),
            ])?
            .unwrap_or(BlockState::Unset),
        deleted: spec.get("deleted")?.boolean()?.unwrap_or(false),
        is_virtual: spec.get("type")?.text()?.as_deref() == Some("virtual"),
    })
}
