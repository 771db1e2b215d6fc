use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

use super::{Reader, text_of};
use crate::types::Family;

type Answer = Result<Value, String>;

/// A prefix; an address alone is a prefix of one.
fn net(value: &Value) -> Result<IpNet, String> {
    let text = text_of(value)?;
    text.parse::<IpNet>()
        .or_else(|_| text.parse::<IpAddr>().map(IpNet::from))
        .map_err(|_| "not an address or prefix".to_owned())
}

pub(super) fn cidr_network(arguments: &[&Value], _: &Reader) -> Answer {
    Ok(net(arguments[0])?.trunc().to_string().into())
}

pub(super) fn cidr_len(arguments: &[&Value], _: &Reader) -> Answer {
    Ok(net(arguments[0])?.prefix_len().into())
}

pub(super) fn cidr_contains(arguments: &[&Value], _: &Reader) -> Answer {
    Ok(net(arguments[0])?.contains(&net(arguments[1])?).into())
}

pub(super) fn ip_family(arguments: &[&Value], _: &Reader) -> Answer {
    Ok(Family::of(net(arguments[0])?.addr()).to_string().into())
}

pub(super) fn host_prefix(arguments: &[&Value], _: &Reader) -> Answer {
    let ip: IpAddr = text_of(arguments[0])?.parse().map_err(|_| "not an address".to_owned())?;
    Ok(IpNet::from(ip).to_string().into())
}
