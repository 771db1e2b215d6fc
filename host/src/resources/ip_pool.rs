use crate::types::{Name, Prefix};

/// `ipipMode` and `vxlanMode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EncapMode {
    /// Off, the default.
    #[default]
    Never,
    /// For every packet between nodes.
    Always,
    /// Only between nodes of different networks.
    CrossSubnet,
}

impl EncapMode {
    /// The mode as the view writes it: empty, `always` or `cross-subnet`.
    pub fn as_str(self) -> &'static str {
        match self {
            EncapMode::Never => "",
            EncapMode::Always => "always",
            EncapMode::CrossSubnet => "cross-subnet",
        }
    }
}

/// IPPool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpPool {
    /// The name.
    pub name: Name,
    /// `cidr`.
    pub cidr: Prefix,
    /// `ipipMode`.
    pub ipip: EncapMode,
    /// `vxlanMode`.
    pub vxlan: EncapMode,
    /// `natOutgoing`.
    pub nat_outgoing: bool,
    /// `disabled`: no new addresses; the pool still counts.
    pub disabled: bool,
    /// `disableBGPExport`.
    pub disable_bgp_export: bool,
    /// `assignmentMode`: `Automatic` (the default) or `Manual`.
    pub manual_assignment: bool,
    /// `allowedUses` as written: any of `Workload`, `Tunnel`, `LoadBalancer`.
    pub allowed_uses: Vec<&'static str>,
}
