//! Communities as text.

use std::net::Ipv4Addr;

use tailorbird_guest::{AsNumber, Community};

pub(crate) fn community(first: u32, second: u32, third: Option<u32>) -> Result<Community, String> {
    match (u16::try_from(first), u16::try_from(second), third) {
        (_, _, Some(third)) => Ok(Community::Large(first, second, third)),
        (Ok(first), Ok(second), None) => Ok(Community::Standard(first, second)),
        _ => Err(format!(
            "{first}:{second} is no community: each part is at most 65535; give three numbers for a large one"
        )),
    }
}

/// An AS number of two bytes has room for a number of four, and the other way round; an address is as an AS number of four.
pub(crate) fn route_target(administrator: &str, number: u32) -> Result<String, String> {
    let short = match administrator.parse::<Ipv4Addr>() {
        Ok(_) => false,
        Err(_) => match administrator.parse::<AsNumber>() {
            Ok(own) => own.get() <= u16::MAX.into(),
            Err(_) => return Err(format!("`{administrator}` is neither an AS number nor an IPv4 address")),
        },
    };
    if !short && number > u16::MAX.into() {
        return Err(format!("{number} is above 65535, which is all that {administrator} leaves room for"));
    }
    Ok(format!("{administrator}:{number}"))
}
