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
    /// The block.
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
