use std::net::IpAddr;

use super::field::{Field, Read};
use super::published::{ServiceFacts, covered, read_published, service_key};
use super::{ObjectError, ObjectKey, namespace_of};
use crate::types::{KeyPattern, Name};

/// `externalTrafficPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficPolicy {
    /// `Cluster`, in so many words.
    Cluster,
    /// `Local`.
    Local,
    /// Unset, or a value that is not known.
    Other,
}

/// Service, as far as routes to it are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The namespace.
    pub namespace: Name,
    /// The name.
    pub name: Name,
    /// The type is ClusterIP (the default), NodePort or LoadBalancer.
    pub routable: bool,
    /// The type is LoadBalancer.
    pub is_load_balancer: bool,
    /// `clusterIPs`, else `clusterIP`; empty when the Service has none (`None`).
    pub cluster_ips: Vec<IpAddr>,
    /// `ipFamilies`, else those of the cluster IPs: IPv4.
    pub ipv4: bool,
    /// `ipFamilies`, else those of the cluster IPs: IPv6.
    pub ipv6: bool,
    /// `externalIPs`.
    pub external_ips: Vec<IpAddr>,
    /// `externalTrafficPolicy`.
    pub traffic_policy: TrafficPolicy,
    /// `loadBalancerIP`.
    pub load_balancer_ip: Option<IpAddr>,
    /// `status.loadBalancer.ingress[].ip`.
    pub ingress_ips: Vec<IpAddr>,
    /// What is published of it, if anything is.
    pub facts: Option<Box<ServiceFacts>>,
}

/// Reads a Service. Addresses that do not parse are left out with a warning each.
pub(super) fn read(
    key: &ObjectKey,
    root: &Field<'_>,
    published: &[KeyPattern],
    warnings: &mut Vec<ObjectError>,
) -> Read<Service> {
    let spec = root.get("spec")?;
    let kind_field = spec.get("type")?;
    let kind = kind_field.text()?;
    let kind = kind.as_deref().unwrap_or("ClusterIP");
    let routable = matches!(kind, "ClusterIP" | "NodePort" | "LoadBalancer");
    if !routable && kind != "ExternalName" {
        let reason = "not a type that is known: one of ClusterIP, NodePort, LoadBalancer, ExternalName";
        warnings.push(kind_field.error(reason));
    }

    let mut cluster_ips = Vec::new();
    let list = spec.get("clusterIPs")?;
    for item in list.items()? {
        read_cluster_ip(&item, &mut cluster_ips, warnings)?;
    }
    if list.items()?.next().is_none() {
        read_cluster_ip(&spec.get("clusterIP")?, &mut cluster_ips, warnings)?;
    }

    let (mut ipv4, mut ipv6, mut families_given) = (false, false, false);
    for item in spec.get("ipFamilies")?.items()? {
        families_given = true;
        match item.text()?.as_deref() {
            Some("IPv4") => ipv4 = true,
            Some("IPv6") => ipv6 = true,
            _ => warnings.push(item.error("must be one of IPv4, IPv6")),
        }
    }
    if !families_given {
        ipv4 = cluster_ips.iter().any(IpAddr::is_ipv4);
        ipv6 = cluster_ips.iter().any(IpAddr::is_ipv6);
    }

    let mut external_ips = Vec::new();
    for item in spec.get("externalIPs")?.items()? {
        external_ips.extend(read_ip(&item, warnings)?);
    }
    let mut ingress_ips = Vec::new();
    let status = root.get("status")?;
    for item in status.get("loadBalancer")?.get("ingress")?.items()? {
        ingress_ips.extend(read_ip(&item.get("ip")?, warnings)?);
    }
    // What the API server fills in for a Service that can be reached from outside.
    let reachable = matches!(kind, "NodePort" | "LoadBalancer")
        || (kind == "ClusterIP" && spec.get("externalIPs")?.items()?.next().is_some());
    let policy = spec.get("externalTrafficPolicy")?;
    let traffic_policy = match policy.text()?.as_deref() {
        Some("Cluster") => TrafficPolicy::Cluster,
        Some("Local") => TrafficPolicy::Local,
        Some(_) => {
            warnings.push(policy.error("must be one of Cluster, Local"));
            TrafficPolicy::Other
        }
        None if reachable => TrafficPolicy::Cluster,
        None => TrafficPolicy::Other,
    };
    Ok(Service {
        namespace: namespace_of(key),
        name: key.name.clone(),
        routable,
        is_load_balancer: kind == "LoadBalancer",
        cluster_ips,
        ipv4,
        ipv6,
        external_ips,
        traffic_policy,
        load_balancer_ip: read_ip(&spec.get("loadBalancerIP")?, warnings)?,
        ingress_ips,
        facts: if published.is_empty() { None } else { read_facts(key, root, kind, published, warnings)? },
    })
}

fn read_facts(
    key: &ObjectKey,
    root: &Field<'_>,
    kind: &str,
    published: &[KeyPattern],
    warnings: &mut Vec<ObjectError>,
) -> Read<Option<Box<ServiceFacts>>> {
    let metadata = root.get("metadata")?;
    let at = |fact: &str| service_key(&namespace_of(key), &key.name, fact);
    let mut read = |field: &str| read_published(metadata.get(field), published, &at(field), warnings);
    let known =
        ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"].into_iter().find(|known| *known == kind);
    let facts = ServiceFacts {
        annotations: read("annotations"),
        labels: read("labels"),
        kind: known.filter(|_| covered(published, &at("type"))),
    };
    Ok((facts != ServiceFacts::default()).then(|| Box::new(facts)))
}

/// A cluster IP; `None` is the word for a Service that has none.
fn read_cluster_ip(field: &Field<'_>, to: &mut Vec<IpAddr>, warnings: &mut Vec<ObjectError>) -> Read<()> {
    if field.text()?.as_deref() != Some("None") {
        to.extend(read_ip(field, warnings)?);
    }
    Ok(())
}

fn read_ip(field: &Field<'_>, warnings: &mut Vec<ObjectError>) -> Read<Option<IpAddr>> {
    let Some(text) = field.text()? else { return Ok(None) };
    let ip = text.parse().ok();
    if ip.is_none() {
        warnings.push(field.error("not an IP address; it is left out"));
    }
    Ok(ip)
}
