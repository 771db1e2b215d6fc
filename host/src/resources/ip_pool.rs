use super::ObjectKey;
use super::field::{Field, Read};
use crate::types::{Family, Name, Prefix};

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
    /// `cidr`, in its canonical spelling.
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

/// Reads an IPPool.
pub(super) fn read(key: &ObjectKey, root: &Field<'_>) -> Read<IpPool> {
    let spec = root.get("spec")?;
    let cidr_field = spec.get("cidr")?;
    let cidr: Prefix = cidr_field.parse()?.ok_or_else(|| cidr_field.missing())?;
    // The type clears host bits; the API refuses them.
    let written = cidr_field.text()?.and_then(|text| text.parse::<ipnet::IpNet>().ok());
    if written.is_some_and(|net| net != net.trunc()) {
        return Err(cidr_field.error(format!("the CIDR must be strictly masked: {cidr}")));
    }
    let modes =
        [("Never", EncapMode::Never), ("Always", EncapMode::Always), ("CrossSubnet", EncapMode::CrossSubnet)];
    let ipip_field = spec.get("ipipMode")?;
    let vxlan_field = spec.get("vxlanMode")?;
    let ipip = ipip_field.one_of(&modes)?.unwrap_or_default();
    let vxlan = vxlan_field.one_of(&modes)?.unwrap_or_default();
    if ipip != EncapMode::Never && vxlan != EncapMode::Never {
        return Err(vxlan_field.error("ipipMode and vxlanMode cannot both be enabled"));
    }
    if ipip != EncapMode::Never && cidr.family() == Family::V6 {
        return Err(ipip_field.error("IPIP is not supported on IPv6 pools"));
    }
    spec.get("blockSize")?.integer(0, 128)?;
    let mut allowed_uses = Vec::new();
    for item in spec.get("allowedUses")?.items()? {
        allowed_uses.extend(item.one_of(&[
            ("Workload", "Workload"),
            ("Tunnel", "Tunnel"),
            ("LoadBalancer", "LoadBalancer"),
        ])?);
    }
    Ok(IpPool {
        name: key.name.clone(),
        cidr: cidr.canonical(),
        ipip,
        vxlan,
        nat_outgoing: spec.get("natOutgoing")?.boolean()?.unwrap_or(false),
        disabled: spec.get("disabled")?.boolean()?.unwrap_or(false),
        disable_bgp_export: spec.get("disableBGPExport")?.boolean()?.unwrap_or(false),
        manual_assignment: spec
            .get("assignmentMode")?
            .one_of(&[("Automatic", false), ("Manual", true)])?
            .unwrap_or(false),
        allowed_uses,
    })
}
