//! Refuses routes from routers outside that cannot be right: prefixes that are nobody's, the cluster's own, the default
//! route, too short or too long ones, and paths without end.

mod bogons;
mod cluster;
mod settings;

use std::cell::OnceCell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tailorbird_guest::{Direction, Family, Filter, Kv, Peering, Policy, Prefix, PrefixRange, Rule, RuleSet};

pub use settings::Settings;

/// The policy.
#[derive(Debug, PartialEq, Eq)]
pub struct Martians {
    settings: Settings,
}

/// The rules of each family: the same for all its sessions.
#[derive(Default)]
struct Rules([OnceCell<RuleSet>; 2]);

impl Policy for Martians {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, String> {
        match settings.fault() {
            Some(fault) => Err(fault),
            None => Ok(Self { settings }),
        }
    }
}

impl Filter for Martians {
    fn rules(&self, peering: &Peering<'_>, direction: Direction, kv: &dyn Kv) -> Result<RuleSet, String> {
        if direction == Direction::Export || !self.settings.include(peering) {
            return Ok(RuleSet::default());
        }
        let family = peering.family();
        let rules = kv.memory().once(Rules::default);
        let made = rules.0[usize::from(family == Family::V6)].get_or_init(|| {
            let own = match self.settings.allow_cluster {
                true => Vec::new(),
                false => cluster::own_prefixes(kv, family),
            };
            self.make(family, &own)
        });
        Ok(made.clone())
    }
}

impl Martians {
    /// The rules of a family. What is allowed goes first and ends the work.
    fn make(&self, family: Family, own: &[Prefix]) -> RuleSet {
        let settings = &self.settings;
        let mut rules = Vec::new();
        let allowed: Vec<PrefixRange> =
            settings.allow.iter().filter(|prefix| prefix.family() == family).copied().map(allowed).collect();
        if !allowed.is_empty() {
            rules.push(Rule::accept([]).prefixes_in(allowed));
        }

        let mut refused = bogons::special(family);
        if !settings.allow_private {
            refused.extend(bogons::private(family));
        }
        refused.extend(own);
        let refused = refused.into_iter().map(PrefixRange::or_longer);
        rules.push(Rule::reject().prefixes_in(refused.chain([PrefixRange::exactly(default_route(family))])));

        if let Some(assigned) = bogons::assigned(family) {
            let private = if settings.allow_private { bogons::private(family) } else { Vec::new() };
            let known = private.into_iter().chain([assigned]).map(PrefixRange::or_longer);
            rules.push(Rule::reject().prefixes_not_in(known));
        }

        let any = PrefixRange::new(default_route(family), settings.lengths(family));
        rules.extend(any.map(|range| Rule::reject().prefixes_not_in([range])));

        if let Some(too_long) = settings.longest_as_path.checked_add(1) {
            rules.push(Rule::reject().as_path_length(too_long..=u32::MAX));
        }
        RuleSet::from(rules)
    }
}

/// A prefix with all that is in it; the default route alone, which would be everything otherwise.
fn allowed(prefix: Prefix) -> PrefixRange {
    if prefix.length() == 0 { PrefixRange::exactly(prefix) } else { PrefixRange::or_longer(prefix) }
}

fn default_route(family: Family) -> Prefix {
    bogons::prefix(
        match family {
            Family::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            Family::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        },
        0,
    )
}

tailorbird_guest::export!(Martians: Filter);
tailorbird_guest::manifest! {
    name: "martians",
    description: "Refuses routes from routers outside that cannot be right.",
    wants: [
        "/calico/v1/ipam/v4/pool",
        "/calico/v1/ipam/v6/pool",
        "/calico/rejectcidrs",
        "/calico/rejectcidrsv6",
    ],
}

#[cfg(test)]
mod tests;
