//! The members that the SRV records of a domain name. No I/O.

use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

use super::config::{Endpoint, Tls};
use crate::syncer::step::MAX_SHOWN;
use crate::types::{ValueError, tame};

/// A domain whose SRV records name the members: `_etcd-client-ssl._tcp.DOMAIN` those that speak TLS, and
/// `_etcd-client._tcp.DOMAIN` those that do not. A member's certificate must have the name that its record has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    /// The domain.
    pub domain: Domain,
    /// Who is asked.
    pub servers: NameServers,
}

/// The name servers that are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameServers {
    /// Those of the system, with its search list: `/etc/resolv.conf`, which is read anew each time.
    System,
    /// The one at an address.
    At(SocketAddr),
}

/// What the members are published as, and whether they speak TLS there.
const SERVICES: [(&str, bool); 2] = [("_etcd-client-ssl._tcp", true), ("_etcd-client._tcp", false)];

/// The most that a domain may have, in bytes: with a service in front it is a name of DNS still.
const MAX_DOMAIN: usize = 253 - "_etcd-client-ssl._tcp.".len();

/// The name of a domain. With a dot at its end it is not looked for in the system's search list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain(String);

impl FromStr for Domain {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let is_label = |label: &str| {
            let is_fine = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
            (1..=63).contains(&label.len()) && label.chars().all(is_fine)
        };
        let name = text.strip_suffix('.').unwrap_or(text);
        match name.len() <= MAX_DOMAIN && name.split('.').all(is_label) {
            true => Ok(Self(text.to_owned())),
            false => Err(ValueError::new("not the name of a domain; write it as `example.org`")),
        }
    }
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Domain {
    /// The names whose SRV records count, and whether their members speak TLS.
    pub(super) fn services(&self) -> [(String, bool); 2] {
        SERVICES.map(|(service, is_secure)| (format!("{service}.{}", self.0), is_secure))
    }
}

/// What an SRV record says.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) priority: u16,
    pub(super) weight: u16,
    pub(super) port: u16,
    /// The host, as DNS has it.
    pub(super) target: String,
}

/// What came of asking for a service.
pub(super) struct Answer {
    /// The name that was asked for.
    asked: String,
    /// The members, or why none are known.
    found: Result<Vec<Found>, String>,
    /// What is said of members and cannot be used.
    unusable: Vec<String>,
}

/// A member, and when it is to be tried.
struct Found {
    endpoint: Endpoint,
    priority: u16,
    weight: u16,
}

impl Answer {
    /// Reads the records of a service, which can say anything.
    pub(super) fn new(asked: String, is_secure: bool, records: Result<Vec<Record>, String>) -> Self {
        let mut unusable = Vec::new();
        let found = records.map(|records| {
            let read = |Record { priority, weight, port, target }: Record| {
                // DNS has a dot at the end of a name, and certificates have none.
                let endpoint = Endpoint::new(is_secure, target.strip_suffix('.').unwrap_or(&target), port);
                match endpoint {
                    Ok(endpoint) => Some(Found { endpoint, priority, weight }),
                    Err(error) => {
                        unusable.push(format!("{:?} port {port}: {error}", tame(&target, MAX_SHOWN)));
                        None
                    }
                }
            };
            records.into_iter().filter_map(read).collect()
        });
        Self { asked, found, unusable }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = match &self.found {
            Ok(found) => found.iter().map(|found| found.endpoint.to_string()).collect(),
            Err(reason) => vec![reason.clone()],
        };
        parts.extend(self.unusable.iter().map(|what| format!("cannot be used: {what}")));
        write!(f, "{}: {}", self.asked, parts.join(", "))
    }
}

/// The members in the order in which they are to be tried: those with TLS alone if there are any or TLS is configured, so that
/// nobody who answers in DNS's place can have it left out; as their records say, of which those of one priority are in an order by chance, each the sooner the more weight it has.
///
/// # Errors
/// There are none: what was asked, what came of it, and what to do.
pub(super) fn members(
    answers: &[Answer],
    tls: &Tls,
    mut chance: impl FnMut() -> f64,
) -> Result<Vec<Endpoint>, String> {
    let all = || answers.iter().flat_map(|answer| answer.found.iter().flatten());
    let secure = tls.is_configured() || all().any(|found| found.endpoint.is_secure);
    let mut found: Vec<(u16, f64, &Endpoint)> = Vec::new();
    for Found { endpoint, priority, weight } in all().filter(|found| found.endpoint.is_secure || !secure) {
        // Times to the first event of processes that are as fast as their weights; without any it is slow, but not never.
        let time = -(1.0 - chance()).ln() / f64::from(*weight).max(0.01);
        found.push((*priority, time, endpoint));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut members: Vec<Endpoint> = Vec::new();
    for (.., endpoint) in found {
        if !members.contains(endpoint) {
            members.push(endpoint.clone());
        }
    }
    if members.is_empty() {
        let shown: Vec<String> = answers.iter().map(Answer::to_string).collect();
        let wanted =
            if secure { "no member of etcd with TLS, which is configured" } else { "no member of etcd" };
        return Err(format!(
            "DNS names {wanted}: {}; are the SRV records there, and does this node ask the right name servers?",
            shown.join("; ")
        ));
    }
    Ok(members)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syncer::certificates::Pem;

    fn record(priority: u16, weight: u16, target: &str) -> Record {
        Record { priority, weight, port: 2379, target: target.to_owned() }
    }

    fn shown(answers: &[Answer]) -> Vec<String> {
        let members = members(answers, &Tls::default(), || 0.5).expect("members");
        members.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_domain_is_asked_for_both_services() {
        let domain: Domain = "example.org".parse().expect("a domain");
        let expected =
            [("_etcd-client-ssl._tcp.example.org", true), ("_etcd-client._tcp.example.org", false)];
        assert_eq!(domain.services(), expected.map(|(name, is_secure)| (name.to_owned(), is_secure)));
        for fine in ["local", "a-b.c_d.example.org.", &"a.".repeat(100)] {
            assert!(fine.parse::<Domain>().is_ok(), "{fine}");
        }
        for bad in ["", ".", "a..b", "http://a", "a b", "ä.org", &"a".repeat(64), &"a.".repeat(120)] {
            let error = bad.parse::<Domain>().expect_err(bad);
            assert!(error.reason.contains("`example.org`"), "{bad}: {error}");
        }
    }

    #[test]
    fn members_without_tls_count_only_where_there_are_no_others_and_those_of_lower_priority_and_more_weight_come_first()
     {
        let secure = [record(20, 9, "c."), record(10, 1, "b."), record(10, 9, "a."), record(20, 0, "d.")];
        let bare = [record(1, 1, "e."), record(2, 1, "f"), record(3, 1, "f.")];
        let answers = [
            Answer::new("s".to_owned(), true, Ok(secure.to_vec())),
            Answer::new("p".to_owned(), false, Ok(bare.to_vec())),
        ];
        for (answers, expected) in [
            (&answers[..], &["https://a", "https://b", "https://c", "https://d"][..]),
            (&answers[1..], &["http://e", "http://f"]),
        ] {
            let expected: Vec<String> = expected.iter().map(|endpoint| format!("{endpoint}:2379")).collect();
            assert_eq!(shown(answers), expected);
        }
        let pem = Pem::File("/etc/calico/ca.pem".into());
        let tls = Tls { authority: Some(pem), identity: None };
        let error = members(&answers[1..], &tls, || 0.5).expect_err("none with TLS");
        assert!(error.contains("with TLS, which is configured") && error.contains("http://e"), "{error}");
        // By chance, the one without weight comes first.
        let mut chances = [0.0, 0.0, 0.999, 0.0].into_iter().cycle();
        let members =
            members(&answers[..1], &Tls::default(), || chances.next().unwrap_or_default()).expect("members");
        assert_eq!(members[0].host, "b");
    }

    #[test]
    fn what_a_record_says_can_be_anything() {
        let strange = ["a b.", ".", "", "http://x.", "root:sesame@a.", "a\u{1b}[31m.", "a,b"];
        let mut records: Vec<Record> = strange.map(|target| record(1, 1, target)).to_vec();
        records.push(Record { port: 0, ..record(1, 1, "none.") });
        let count = records.len();
        let answer = Answer::new("s".to_owned(), true, Ok(records.clone()));
        assert_eq!(answer.unusable.len(), count);
        let none = || Answer::new("p".to_owned(), false, Err("there is no such name".to_owned()));
        let error = members(&[answer, none()], &Tls::default(), || 0.5).expect_err("no members");
        assert!(error.contains("p: there is no such name") && error.contains("name servers"), "{error}");
        assert!(!error.contains('\u{1b}'), "{error}");
        records.push(record(1, 1, "fine."));
        assert_eq!(shown(&[Answer::new("s".to_owned(), true, Ok(records)), none()]), ["https://fine:2379"]);
    }
}
