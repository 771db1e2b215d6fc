//! Gives the Services of some namespaces a community, and refuses prefixes that are too long.

use tailorbird_guest::{
    Community, Decision, Direction, Family, Filter, Kv, PeerType, Peering, Policy, Prefix, PrefixRange,
    Route, Rule, RuleSet, export, manifest,
};

/// The policy.
pub struct Marks {
    settings: Settings,
    /// Made once: all sessions share it.
    import: RuleSet,
}

/// What the operator can set.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The namespaces whose Services are marked.
    #[serde(default)]
    namespaces: Vec<String>,
    /// The mark.
    community: Community,
    /// The longest IPv4 prefix that is taken from peers in other ASes.
    #[serde(default = "longest_ipv4")]
    longest_ipv4: u8,
}

fn longest_ipv4() -> u8 {
    24
}

impl Policy for Marks {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, String> {
        let longest = settings.longest_ipv4;
        if longest > 32 {
            return Err(format!("`longest_ipv4` is {longest}: it can be 0 to 32"));
        }
        let all = Prefix::new([0, 0, 0, 0].into(), 0);
        let too_long = all.and_then(|all| PrefixRange::new(all, longest + 1..=32));
        let refuse = |range| Rule::reject().prefixes_in([range]).peer_type(PeerType::External);
        let import = too_long.map(refuse).into_iter().collect();
        Ok(Self { settings, import })
    }
}

impl Filter for Marks {
    fn advertise(&self, route: &Route<'_>, _: &dyn Kv) -> Result<Decision, String> {
        let marked = route
            .service()
            .is_some_and(|service| self.settings.namespaces.iter().any(|own| own == service.namespace));
        let decision = Decision::accept();
        Ok(if marked { decision.community(self.settings.community) } else { decision })
    }

    fn rules(&self, peering: &Peering<'_>, direction: Direction, _: &dyn Kv) -> Result<RuleSet, String> {
        Ok(match (direction, peering.family()) {
            (Direction::Import, Family::V4) => self.import.clone(),
            _ => RuleSet::default(),
        })
    }
}

export!(Marks: Filter);

manifest! {
    name: env!("CARGO_PKG_NAME"),
    description: "Marks the Services of some namespaces, and refuses prefixes that are too long.",
    wants: [],
}

#[cfg(test)]
mod tests {
    use tailorbird_guest::testing::{MockKv, OnePeering, OneRoute, configure};

    use super::*;

    fn marks(longest_ipv4: u8) -> Marks {
        let settings =
            format!(r#"{{"namespaces": ["shop"], "community": "65000:7", "longest_ipv4": {longest_ipv4}}}"#);
        configure(&settings).unwrap()
    }

    #[test]
    fn services_of_the_namespaces_are_marked() {
        let decide = |route: OneRoute| marks(24).advertise(&route.view(), &MockKv::new()).unwrap();
        let marked = Decision::accept().community(Community::Standard(65000, 7));
        assert_eq!(decide(OneRoute::service("10.96.0.1/32", "shop", "web")), marked);
        assert_eq!(decide(OneRoute::service("10.96.0.2/32", "other", "web")), Decision::accept());
        assert_eq!(decide(OneRoute::block("10.244.0.0/26")), Decision::accept());
    }

    #[test]
    fn long_prefixes_are_refused_on_import() {
        let rules = |longest, ip: &str, direction| {
            let peering = OnePeering::global(ip, "tor").alone();
            marks(longest).rules(&peering.view(), direction, &MockKv::new()).unwrap()
        };
        let all = "0.0.0.0/0".parse().unwrap();
        let too_long = PrefixRange::new(all, 25..=32).unwrap();
        let expected = RuleSet::from([Rule::reject().prefixes_in([too_long]).peer_type(PeerType::External)]);
        assert_eq!(rules(24, "10.9.9.9", Direction::Import), expected);
        assert!(rules(24, "10.9.9.9", Direction::Export).is_empty());
        assert!(rules(24, "2001:db8::1", Direction::Import).is_empty());
        assert!(rules(32, "10.9.9.9", Direction::Import).is_empty());
    }

    #[test]
    fn wrong_settings_are_told() {
        assert!(configure::<Marks>("{}").is_err_and(|error| error.contains("community")));
        let long = r#"{"community": "65000:7", "longest_ipv4": 33}"#;
        assert!(configure::<Marks>(long).is_err_and(|error| error.contains("0 to 32")));
    }
}
