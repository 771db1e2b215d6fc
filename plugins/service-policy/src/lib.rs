//! Decides on the routes of Services: which communities they get, whether they are advertised, and to whom. The operator
//! says it for a namespace, and a Service for itself, in its annotations.

mod annotation;
mod settings;
mod wish;

use std::collections::BTreeMap;

use tailorbird_guest::{Decision, Filter, Kv, Policy, Route, log};

pub use settings::Settings;
use wish::Wish;

/// The policy.
#[derive(Debug, PartialEq, Eq)]
pub struct ServicePolicy {
    annotations: bool,
    communities_of: Option<Vec<u32>>,
    namespaces: BTreeMap<String, Wish>,
}

impl Policy for ServicePolicy {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, String> {
        let Settings { annotations, communities_of, namespaces } = settings;
        let read = namespaces.into_iter().map(|(name, form)| match form.wish() {
            Ok(wish) => Ok((name, wish)),
            Err(fault) => Err(format!("`namespaces.{name}`: {fault}")),
        });
        Ok(Self { annotations, communities_of, namespaces: read.collect::<Result<_, _>>()? })
    }
}

impl Filter for ServicePolicy {
    fn advertise(&self, route: &Route<'_>, kv: &dyn Kv) -> Result<Decision, String> {
        let Some(service) = route.service() else { return Ok(Decision::accept()) };
        let of_namespace = self.namespaces.get(service.namespace).cloned().unwrap_or_default();
        if !self.annotations || !of_namespace.advertise {
            return Ok(of_namespace.decision());
        }
        match annotation::wish(service, self.communities_of.as_deref(), kv) {
            Ok(wish) => Ok(of_namespace.and(&wish).decision()),
            Err(fault) => {
                log::warn(&format!(
                    "Service {}/{}: {fault}; {} is not advertised",
                    service.namespace,
                    service.name,
                    route.prefix()
                ));
                Ok(Decision::reject())
            }
        }
    }
}

tailorbird_guest::export!(ServicePolicy: Filter);
tailorbird_guest::manifest! {
    name: "service-policy",
    description: "Communities and reach of Service routes, by annotation and by namespace.",
    wants: ["/tailorbird/v1/service/*/*/annotations/bgp.tailorbird.io"],
}

#[cfg(test)]
mod tests;
