use serde::Serialize;
use serde_json::{Map, Value};

use super::ObjectKey;
use super::field::{Field, Read};
use crate::types::{AsNumber, Community, Family, InterfacePattern, Name, Prefix, Priority};

/// What a rule does with a route that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Take it, after the operations.
    Accept,
    /// Refuse it.
    Reject,
}

/// How a route's prefix is compared with a rule's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MatchOperator {
    Equal,
    NotEqual,
    In,
    NotIn,
}

/// The prefix condition of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CidrMatch {
    /// The prefix, of the rule's family.
    pub cidr: Prefix,
    /// The operator.
    pub operator: MatchOperator,
    /// `prefixLength`: the shortest and the longest length, each if it was written.
    pub length: Option<(Option<u8>, Option<u8>)>,
}

/// `source` of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleSource {
    /// Routes that came over BGP.
    RemotePeers,
}

/// `peerType` of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PeerType {
    /// Peers in another AS.
    External,
    /// Peers in the same AS.
    Internal,
}

/// A change to a route before it is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Add a community.
    AddCommunity(Community),
    /// Put AS numbers in front of the path, the first one outermost.
    PrependAsPath(Vec<AsNumber>),
    /// Set the priority.
    SetPriority(Priority),
}

/// One rule of a BGPFilter. All conditions that are set must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What happens to a route that matches.
    pub action: Action,
    /// The prefix condition.
    pub cidr: Option<CidrMatch>,
    /// The source condition.
    pub source: Option<RuleSource>,
    /// The interface condition.
    pub interface: Option<InterfacePattern>,
    /// The community condition.
    pub community: Option<Community>,
    /// The AS path begins with these, if there are any.
    pub as_path_prefix: Vec<AsNumber>,
    /// The priority condition.
    pub priority: Option<Priority>,
    /// The peers that the rule is for; unset means all.
    pub peer_type: Option<PeerType>,
    /// Changes, in order.
    pub operations: Vec<Operation>,
}

impl Rule {
    /// A rule without a condition and without a change: every route matches.
    pub fn new(action: Action) -> Self {
        Self {
            action,
            cidr: None,
            source: None,
            interface: None,
            community: None,
            as_path_prefix: Vec::new(),
            priority: None,
            peer_type: None,
            operations: Vec::new(),
        }
    }
}

/// The rules of one family.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FilterRules {
    /// `importV4` or `importV6`.
    pub import: Vec<Rule>,
    /// `exportV4` or `exportV6`.
    pub export: Vec<Rule>,
}

/// BGPFilter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BgpFilter {
    /// The name.
    pub name: Name,
    /// The rules for IPv4.
    pub v4: FilterRules,
    /// The rules for IPv6.
    pub v6: FilterRules,
    /// The resource as JSON, for the view: kind, apiVersion, metadata with the name alone, spec.
    pub json: super::Text,
}

impl BgpFilter {
    /// The rules of a family.
    pub fn rules(&self, family: Family) -> &FilterRules {
        match family {
            Family::V4 => &self.v4,
            Family::V6 => &self.v6,
        }
    }
}

/// Reads a BGPFilter.
pub(super) fn read(key: &ObjectKey, root: &Field<'_>) -> Read<BgpFilter> {
    let spec = root.get("spec")?;
    let rules = |family: Family, import: &str, export: &str| -> Read<FilterRules> {
        Ok(FilterRules {
            import: read_rules(&spec.get(import)?, family)?,
            export: read_rules(&spec.get(export)?, family)?,
        })
    };
    let v4 = rules(Family::V4, "importV4", "exportV4")?;
    let v6 = rules(Family::V6, "importV6", "exportV6")?;
    let empty = Value::Object(Map::new());
    let view = ViewJson {
        kind: "BGPFilter",
        api_version: "projectcalico.org/v3",
        metadata: ViewMetadata { name: &key.name },
        spec: spec.value().filter(|value| value.is_object()).unwrap_or(&empty),
    };
    let json = serde_json::to_string(&view).map_err(|error| spec.error(error.to_string()))?;
    Ok(BgpFilter { name: key.name.clone(), v4, v6, json: json.into() })
}

/// The resource as the view shows it.
#[derive(Serialize)]
struct ViewJson<'a> {
    kind: &'a str,
    #[serde(rename = "apiVersion")]
    api_version: &'a str,
    metadata: ViewMetadata<'a>,
    spec: &'a Value,
}

#[derive(Serialize)]
struct ViewMetadata<'a> {
    name: &'a Name,
}

fn read_rules(list: &Field<'_>, family: Family) -> Read<Vec<Rule>> {
    let mut rules = Vec::new();
    for item in list.items()? {
        rules.push(read_rule(&item, family)?);
    }
    Ok(rules)
}

fn read_rule(rule: &Field<'_>, family: Family) -> Read<Rule> {
    let action = rule.get("action")?;
    let action = action
        .one_of(&[("Accept", Action::Accept), ("Reject", Action::Reject)])?
        .ok_or_else(|| action.error("must be set to Accept or Reject"))?;
    let interface = rule.get("interface")?;
    if interface.text()?.is_some_and(|text| text.chars().count() > 15) {
        return Err(interface.error("an interface name has at most 15 characters"));
    }
    let operations = rule.get("operations")?;
    let parsed = Rule {
        action,
        cidr: read_cidr(rule, family)?,
        source: rule.get("source")?.one_of(&[("RemotePeers", RuleSource::RemotePeers)])?,
        interface: interface.parse()?,
        community: read_community(&rule.get("communities")?)?,
        as_path_prefix: read_path(&rule.get("asPathPrefix")?)?,
        priority: rule.get("priority")?.priority()?,
        peer_type: rule
            .get("peerType")?
            .one_of(&[("eBGP", PeerType::External), ("iBGP", PeerType::Internal)])?,
        operations: read_operations(&operations)?,
    };
    if !parsed.operations.is_empty() && action == Action::Reject {
        return Err(operations.error("operations may only be used with action Accept"));
    }
    Ok(parsed)
}

fn read_cidr(rule: &Field<'_>, family: Family) -> Read<Option<CidrMatch>> {
    let field = rule.get("cidr")?;
    let operator_field = rule.get("matchOperator")?;
    let length_field = rule.get("prefixLength")?;
    let operator = operator_field.one_of(&[
        ("Equal", MatchOperator::Equal),
        ("NotEqual", MatchOperator::NotEqual),
        ("In", MatchOperator::In),
        ("NotIn", MatchOperator::NotIn),
    ])?;
    let bits = family.bits();
    let bound = |name: &str| -> Read<Option<u8>> {
        let number = length_field.get(name)?.integer(0, i64::from(bits))?;
        Ok(number.and_then(|number| u8::try_from(number).ok()))
    };
    let length = if length_field.is_set() { Some((bound("min")?, bound("max")?)) } else { None };
    let Some(cidr) = field.parse::<Prefix>()? else {
        if operator.is_some() {
            return Err(operator_field.error("cidr and matchOperator must both be set or both be empty"));
        }
        if length.is_some() {
            return Err(length_field.error("cidr is required when prefixLength is set"));
        }
        return Ok(None);
    };
    if cidr.family() != family {
        return Err(field.error(format!("must be an IP{family} prefix here")));
    }
    let Some(operator) = operator else {
        return Err(field.error("cidr and matchOperator must both be set or both be empty"));
    };
    Ok(Some(CidrMatch { cidr, operator, length }))
}

fn read_community(communities: &Field<'_>) -> Read<Option<Community>> {
    if !communities.is_set() {
        return Ok(None);
    }
    let values = communities.get("values")?;
    let mut found = Vec::new();
    for item in values.items()? {
        found.extend(item.parse::<Community>()?);
    }
    match found[..] {
        [community] => Ok(Some(community)),
        _ => Err(values.error("must have exactly one community")),
    }
}

fn read_path(list: &Field<'_>) -> Read<Vec<AsNumber>> {
    let mut path = Vec::new();
    for item in list.items()? {
        path.push(item.as_number()?.ok_or_else(|| item.missing())?);
    }
    Ok(path)
}

fn read_operations(list: &Field<'_>) -> Read<Vec<Operation>> {
    let mut operations = Vec::new();
    for item in list.items()? {
        let add = item.get("addCommunity")?;
        let prepend = item.get("prependASPath")?;
        let priority = item.get("setPriority")?;
        let operation = match (add.is_set(), prepend.is_set(), priority.is_set()) {
            (true, false, false) => {
                let value = add.get("value")?;
                Operation::AddCommunity(value.parse()?.ok_or_else(|| value.missing())?)
            }
            (false, true, false) => {
                let prefix = prepend.get("prefix")?;
                let path = read_path(&prefix)?;
                if path.is_empty() || path.len() > 10 {
                    return Err(prefix.error("must have 1 to 10 AS numbers"));
                }
                Operation::PrependAsPath(path)
            }
            (false, false, true) => {
                let value = priority.get("value")?;
                Operation::SetPriority(value.priority()?.ok_or_else(|| value.missing())?)
            }
            _ => return Err(item.error("must be exactly one of addCommunity, prependASPath, setPriority")),
        };
        operations.push(operation);
    }
    if operations.len() > 10 {
        return Err(list.error("must have at most 10 operations"));
    }
    Ok(operations)
}
