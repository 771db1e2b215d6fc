//! How etcd is found and spoken to.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use super::discovery::Discovery;
use crate::syncer::certificates::Pem;
use crate::types::ValueError;

/// Where etcd is, and how it is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where.
    pub members: Members,
    /// Who asks, where etcd wants to know.
    pub user: Option<User>,
    /// What is shown and checked at endpoints that speak TLS.
    pub tls: Tls,
}

impl Config {
    /// Members that are named, without a user, and with the usual authorities.
    pub fn new(endpoints: Endpoints) -> Self {
        Self { members: Members::Named(endpoints), user: None, tls: Tls::default() }
    }
}

/// How the members of a cluster are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Members {
    /// They are named.
    Named(Endpoints),
    /// DNS names them, which is asked anew each time that one of them is to be tried.
    Discovered(Discovery),
}

/// A member of etcd: `http://HOST:PORT`, or `https` where it speaks TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Whether it speaks TLS.
    pub(super) is_secure: bool,
    /// A name or an address, the latter without brackets.
    pub(super) host: String,
    /// The port.
    pub(super) port: u16,
}

impl FromStr for Endpoint {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let bad = |why: &str| ValueError::new(format!("{why}; write `http://HOST:2379`, or `https` for TLS"));
        let (is_secure, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
            (Some(rest), _) => (false, rest),
            (_, Some(rest)) => (true, rest),
            _ => return Err(bad("an endpoint does not begin with `http://` or `https://`")),
        };
        // What may stand there could be a password, so nothing of it is shown.
        if rest.contains('@') {
            return Err(bad("an endpoint has a user in it, who has a variable of his own, ETCD_USERNAME"));
        }
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (host, port) = rest.rsplit_once(':').ok_or_else(|| bad("an endpoint has no port"))?;
        let port = port.parse().map_err(|_| bad("a port is none"))?;
        let host = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
            Some(six) if six.parse::<Ipv6Addr>().is_ok() => six,
            _ => host,
        };
        Self::new(is_secure, host, port).map_err(|error| bad(&error.reason))
    }
}

impl Endpoint {
    /// The endpoint at a host, which is a name or an address.
    ///
    /// # Errors
    /// The host is neither.
    pub(super) fn new(is_secure: bool, host: &str, port: u16) -> Result<Self, ValueError> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        if host.is_empty() || !(host.chars().all(is_name) || host.parse::<Ipv6Addr>().is_ok()) {
            return Err(ValueError::new("a host is neither a name nor an address"));
        }
        match port {
            0 => Err(ValueError::new("a port is none")),
            port => Ok(Self { is_secure, host: host.to_owned(), port }),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        match self.host.contains(':') {
            true => write!(f, "{scheme}://[{}]:{}", self.host, self.port),
            false => write!(f, "{scheme}://{}:{}", self.host, self.port),
        }
    }
}

/// The members of a cluster that are known; one at least.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints(Vec<Endpoint>);

impl FromStr for Endpoints {
    type Err = ValueError;

    /// Reads a list with commas; blanks beside them are no part of an endpoint.
    fn from_str(text: &str) -> Result<Self, ValueError> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let all: Vec<Endpoint> = parts.map(str::parse).collect::<Result<_, _>>()?;
        match all.is_empty() {
            true => Err(ValueError::new("there is no endpoint in it; write `http://HOST:2379`")),
            false => Ok(Self(all)),
        }
    }
}

impl Endpoints {
    /// The endpoints, in their order.
    pub fn all(&self) -> &[Endpoint] {
        &self.0
    }
}

/// Who asks. The password never shows itself.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    password: Arc<str>,
}

impl User {
    /// A user.
    pub fn new(name: String, password: &str) -> Self {
        Self { name, password: password.into() }
    }

    /// The password, for the one place that sends it.
    pub(super) fn password(&self) -> &str {
        &self.password
    }
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}

/// What both sides show each other. Files are read anew for each connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tls {
    /// The authorities that may have signed a server's certificate; else those of the system.
    pub authority: Option<Pem>,
    /// What the client shows.
    pub identity: Option<Identity>,
}

impl Tls {
    /// Whether anything of it is.
    pub(super) fn is_configured(&self) -> bool {
        self.authority.is_some() || self.identity.is_some()
    }
}

/// A certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate, and those that lead to its authority.
    pub certificate: Pem,
    /// The key.
    pub key: Pem,
}

/// Waits and amounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// The wait after a first failure; it doubles with each further one. 500 ms.
    pub first_wait: Duration,
    /// The longest wait between attempts; 30 s.
    pub longest_wait: Duration,
    /// How long the name servers may take to name the members; 8 s, so that what is read once says so in time.
    pub look_up: Duration,
    /// How long a connection may take to be made, TLS included; 3 s, so that another member is tried before long.
    pub dial: Duration,
    /// How long an answer may take; 20 s.
    pub answer: Duration,
    /// How long a source that was in sync may be without a connection before it says so; 5 s.
    pub grace: Duration,
    /// How often a watch is asked how far it is; 10 s.
    pub ask: Duration,
    /// How long a watch may say nothing; 30 s.
    pub silence: Duration,
    /// How many keys are read at once; 500.
    pub page: u32,
    /// The largest message that is taken, in bytes; 64 MiB.
    pub message: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
            look_up: Duration::from_secs(8),
            dial: Duration::from_secs(3),
            answer: Duration::from_secs(20),
            grace: Duration::from_secs(5),
            ask: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            page: 500,
            message: 64 << 20,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read_as_they_are_meant() {
        for (text, expected) in [
            ("http://a:2379", "http://a:2379"),
            ("https://etcd-0.etcd:2379/", "https://etcd-0.etcd:2379"),
            ("http://[fd00::1]:2379", "http://[fd00::1]:2379"),
            ("http://10.0.0.1:1, https://b:2 ,", "http://10.0.0.1:1 https://b:2"),
        ] {
            let endpoints: Endpoints = text.parse().expect(text);
            let shown: Vec<String> = endpoints.all().iter().map(ToString::to_string).collect();
            assert_eq!(shown.join(" "), expected);
        }
        for text in [
            "",
            " , ",
            "a:2379",
            "http://a",
            "http://a:x",
            "http://a:0",
            "http://:1",
            "http://a b:1",
            "http://[x]:1",
            "http://a/b:1",
            "ftp://a:1",
            "http://a:1,b",
        ] {
            let error = text.parse::<Endpoints>().expect_err(text);
            assert!(error.reason.contains("http://HOST:2379"), "{text}: {error}");
        }
        let error = "http://root:sesame@a:1".parse::<Endpoints>().expect_err("a user");
        assert!(!error.to_string().contains("sesame"), "{error}");
    }

    #[test]
    fn a_password_does_not_show_itself() {
        let shown = format!("{:?}", User::new("calico".to_owned(), "sesame"));
        assert!(shown.contains("calico") && !shown.contains("sesame"), "{shown}");
        let text = Pem::Text { name: "etcdKey", text: "sesame".into() };
        assert_eq!(format!("{text} {text:?}"), "etcdKey Pem(etcdKey)");
    }
}
