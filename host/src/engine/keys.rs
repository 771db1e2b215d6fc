//! The paths of the view.

use std::net::IpAddr;

use crate::types::{Family, Name, Port, Prefix};

pub(super) const GLOBAL: &str = "/calico/bgp/v1/global";
/// What the keys of nodes begin with.
pub(super) const HOST: &str = "/calico/bgp/v1/host/";
pub(super) const CONFIGURATION_MARK: &str = "/calico/bgpconfig";

pub(super) fn global(key: &str) -> String {
    format!("{GLOBAL}/{key}")
}

pub(super) fn host(node: &Name, key: &str) -> String {
    format!("{HOST}{node}/{key}")
}

/// The last part of a peering's key.
fn peer(ip: IpAddr, port: Option<Port>) -> String {
    let family = Family::of(ip);
    match port {
        Some(port) => format!("peer_{family}/{ip}-{port}"),
        None => format!("peer_{family}/{ip}"),
    }
}

pub(super) fn global_peer(ip: IpAddr, port: Option<Port>) -> String {
    global(&peer(ip, port))
}

pub(super) fn node_peer(node: &Name, ip: IpAddr, port: Option<Port>) -> String {
    host(node, &peer(ip, port))
}

pub(super) fn pool(cidr: &Prefix) -> String {
    format!("/calico/v1/ipam/{}/pool/{}", cidr.family(), cidr.key())
}

pub(super) fn block(node: &Name, cidr: &Prefix) -> String {
    format!("/calico/ipam/v2/host/{node}/ip{}/block/{}", cidr.family(), cidr.key())
}

pub(super) fn filter(name: &Name) -> String {
    format!("/calico/resources/v3/projectcalico.org/bgpfilters/{name}")
}
