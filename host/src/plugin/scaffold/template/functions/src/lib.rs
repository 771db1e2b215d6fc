//! Functions for templates.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tailorbird_guest::{Function, Functions, Kv, NoSettings, Policy, Prefix, export, manifest};

/// The policy.
pub struct Site;

impl Policy for Site {
    type Settings = NoSettings;

    fn configure(_: NoSettings) -> Result<Self, String> {
        Ok(Self)
    }
}

impl Site {
    fn gateway(&self, prefix: Prefix, number: Option<u32>) -> Result<IpAddr, String> {
        let number = number.unwrap_or(1);
        let address = match prefix.address() {
            IpAddr::V4(first) => {
                first.to_bits().checked_add(number).map(|bits| Ipv4Addr::from_bits(bits).into())
            }
            IpAddr::V6(first) => {
                first.to_bits().checked_add(number.into()).map(|bits| Ipv6Addr::from_bits(bits).into())
            }
        };
        address
            .filter(|address| prefix.contains(*address))
            .ok_or_else(|| format!("{prefix} has no address {number}"))
    }

    fn cluster_as(&self, kv: &dyn Kv) -> Option<String> {
        kv.get("/calico/bgp/v1/global/as_num")
    }
}

impl Functions for Site {
    fn functions() -> Vec<Function<Self>> {
        vec![
            Function::new(
                "gateway",
                "The address of a number in a prefix; the first one if no number is given.",
                ["prefix", "number"],
                Self::gateway,
            ),
            Function::new("cluster_as", "The cluster's AS number.", [], Self::cluster_as),
        ]
    }
}

export!(Site: Functions);

manifest! {
    name: env!("CARGO_PKG_NAME"),
    description: "Functions for this site's templates.",
    wants: ["/calico/bgp/v1/global/as_num"],
}

#[cfg(test)]
mod tests {
    use tailorbird_guest::Value;
    use tailorbird_guest::testing::{MockKv, call};

    use super::*;

    fn gateway(arguments: impl IntoIterator<Item = Value>) -> Result<Value, String> {
        call(&Site, &MockKv::new(), "gateway", arguments)
    }

    #[test]
    fn addresses_are_counted_from_the_first() {
        assert_eq!(gateway(["192.0.2.0/24".into()]), Ok("192.0.2.1".into()));
        assert_eq!(gateway(["192.0.2.0/24".into(), 254.into()]), Ok("192.0.2.254".into()));
        assert_eq!(gateway(["2001:db8::/64".into()]), Ok("2001:db8::1".into()));
    }

    #[test]
    fn what_is_outside_is_refused() {
        for (prefix, number) in [("192.0.2.0/24", 256), ("192.0.2.1/32", 1), ("255.255.255.255/32", 1)] {
            assert_eq!(
                gateway([prefix.into(), number.into()]),
                Err(format!("{prefix} has no address {number}"))
            );
        }
        assert!(gateway(["x".into()]).is_err_and(|error| error.starts_with("prefix: `x` is no prefix")));
    }

    #[test]
    fn the_as_number_is_read() {
        let kv = MockKv::new().with("/calico/bgp/v1/global/as_num", "64512").granted(MANIFEST.wants);
        assert_eq!(call(&Site, &kv, "cluster_as", []), Ok("64512".into()));
        assert_eq!(call(&Site, &MockKv::new(), "cluster_as", []), Ok(Value::None));
    }
}
