//! How etcd is found and spoken to, as the environment or the client's configuration file says it.

use std::path::PathBuf;

use super::{EnvironmentError, Found, Lookup, etcds, first, parsed};
use crate::syncer::Pem;
use crate::syncer::etcd::{Config, Discovery, Endpoints, Identity, Members, NameServers, Tls, User};

/// What is said about etcd, each with what says it.
#[derive(Default)]
pub(crate) struct Said {
    pub(crate) endpoints: Option<Found>,
    pub(crate) discovery: Option<Found>,
    pub(crate) username: Option<Found>,
    pub(crate) password: Option<Found>,
    /// Files in PEM: authority, certificate, key.
    pub(crate) files: [Option<Found>; 3],
    /// The same written out, which only a file can.
    pub(crate) texts: [Option<Found>; 3],
}

/// How etcd is spoken to. Each variable counts first with the prefix `CALICO_`. A user name without a password, or a
/// password without one, says nothing.
///
/// # Errors
/// Variables that cannot be used, or not together.
pub fn etcd(lookup: Lookup<'_>) -> Result<Config, EnvironmentError> {
    let first = |variables| first(lookup, variables);
    let said = Said {
        endpoints: first(etcds!("ENDPOINTS")),
        discovery: first(etcds!("DISCOVERY_SRV")),
        username: first(etcds!("USERNAME")),
        password: first(etcds!("PASSWORD")),
        files: [etcds!("CA_CERT_FILE"), etcds!("CERT_FILE"), etcds!("KEY_FILE")].map(first),
        texts: Default::default(),
    };
    said.config("ETCD_ENDPOINTS")
}

impl Said {
    /// What it comes to; `endpoints` is where the endpoints are to be said.
    pub(crate) fn config(self, endpoints: &'static str) -> Result<Config, EnvironmentError> {
        let wrong = |(variable, value): Found, reason: String| EnvironmentError { variable, value, reason };
        let members = match (self.endpoints, self.discovery) {
            (Some((own, _)), Some(discovery)) => {
                let reason = format!("{own} says where etcd is too; only one of the two may");
                return Err(wrong(discovery, reason));
            }
            (None, Some(discovery)) => {
                let domain = parsed(discovery, str::parse)?;
                Members::Discovered(Discovery { domain, servers: NameServers::System })
            }
            (None, None) => {
                let reason = "nothing says where etcd is; write `http://HOST:2379`, several with commas";
                return Err(wrong((endpoints, String::new()), reason.to_owned()));
            }
            (Some((variable, value)), None) => match value.parse::<Endpoints>() {
                Ok(endpoints) => Members::Named(endpoints),
                // What cannot be read may have a password in it.
                Err(error) => return Err(wrong((variable, "…".to_owned()), error.reason)),
            },
        };
        let user = match (self.username, self.password) {
            (Some((_, name)), Some((_, password))) => Some(User::new(name, &password)),
            _ => None,
        };
        let file = |(_, path): Found| Pem::File(PathBuf::from(path));
        let written = |(name, text): Found| Pem::Text { name, text: text.into() };
        let said_by = |all: &[Option<Found>; 3]| all.iter().flatten().next().map(|(name, _)| *name);
        let tls = match (said_by(&self.files), said_by(&self.texts)) {
            (Some(file), Some(text)) => {
                let reason =
                    format!("{file} names a file; either all of TLS is in files, or all of it is here");
                return Err(wrong((text, "…".to_owned()), reason));
            }
            (_, None) => {
                let [authority, certificate, key] = self.files;
                Tls { authority: authority.map(file), identity: identity(certificate, key, file)? }
            }
            (None, Some(text)) => {
                let [authority, certificate, key] = self.texts;
                let identity = identity(certificate, key, written)?;
                if identity.is_none() {
                    let reason = "the client's certificate and key are needed here too (etcdCert, etcdKey); or name \
                        the authority's file by etcdCACertFile";
                    return Err(wrong((text, "…".to_owned()), reason.to_owned()));
                }
                Tls { authority: authority.map(written), identity }
            }
        };
        Ok(Config { members, user, tls })
    }
}

fn identity(
    certificate: Option<Found>,
    key: Option<Found>,
    pem: impl Fn(Found) -> Pem,
) -> Result<Option<Identity>, EnvironmentError> {
    let alone = |(variable, value): Found, other: &str| EnvironmentError {
        variable,
        value,
        reason: format!("{other} is missing beside it; set both, or neither"),
    };
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok(Some(Identity { certificate: pem(certificate), key: pem(key) })),
        (None, None) => Ok(None),
        (Some(certificate), None) => Err(alone(certificate, "the key of the certificate")),
        (None, Some(key)) => Err(alone(key, "the certificate of the key")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::with;
    use super::*;

    fn read(set: &[(&str, &str)]) -> Result<Config, String> {
        with(set, etcd).map_err(|error| error.to_string())
    }

    #[test]
    fn etcd_is_spoken_to_as_the_environment_says() {
        let config = read(&[
            ("ETCD_ENDPOINTS", "http://other:1"),
            ("CALICO_ETCD_ENDPOINTS", "https://a:2379,http://b:2379"),
            ("ETCD_USERNAME", "calico"),
            ("CALICO_ETCD_PASSWORD", "sesame"),
            ("ETCD_CA_CERT_FILE", "/ca"),
            ("ETCD_CERT_FILE", "/cert"),
            ("ETCD_KEY_FILE", "/key"),
        ])
        .expect("all of it");
        let named = "https://a:2379,http://b:2379".parse().expect("endpoints");
        assert_eq!(config.members, Members::Named(named));
        assert_eq!(config.user, Some(User::new("calico".to_owned(), "sesame")));
        let file = |name: &str| Pem::File(PathBuf::from(name));
        let identity = Some(Identity { certificate: file("/cert"), key: file("/key") });
        assert_eq!(config.tls, Tls { authority: Some(file("/ca")), identity });

        let config =
            read(&[("ETCD_DISCOVERY_SRV", "example.org"), ("ETCD_ENDPOINTS", "")]).expect("a domain");
        let domain = "example.org".parse().expect("a domain");
        let discovery = Discovery { domain, servers: NameServers::System };
        assert_eq!(config.members, Members::Discovered(discovery));

        let at = ("ETCD_ENDPOINTS", "http://a:2379");
        for half in [("ETCD_USERNAME", "calico"), ("ETCD_PASSWORD", "sesame")] {
            assert_eq!(read(&[at, half]).expect("half a user").user, None);
        }
    }

    #[test]
    fn what_cannot_be_used_is_told_with_what_to_do() {
        let at = ("ETCD_ENDPOINTS", "http://a:2379");
        for (set, begins, told) in [
            (&[][..], "ETCD_ENDPOINTS", "http://HOST:2379"),
            (&[("ETCD_ENDPOINTS", "")], "ETCD_ENDPOINTS", "http://HOST:2379"),
            (&[("ETCD_ENDPOINTS", "a:2379")], "ETCD_ENDPOINTS", "http://HOST:2379"),
            (
                &[("ETCD_DISCOVERY_SRV", "http://example.org")],
                "ETCD_DISCOVERY_SRV=\"http://example.org\"",
                "`example.org`",
            ),
            (&[at, ("ETCD_DISCOVERY_SRV", "example.org")], "ETCD_DISCOVERY_SRV", "only one"),
            (&[at, ("ETCD_CERT_FILE", "/cert")], "ETCD_CERT_FILE", "both, or neither"),
            (&[at, ("CALICO_ETCD_KEY_FILE", "/key")], "CALICO_ETCD_KEY_FILE", "both, or neither"),
        ] {
            let error = read(set).expect_err(told);
            assert!(error.starts_with(begins) && error.contains(told), "{error}");
        }
        let error = read(&[("ETCD_ENDPOINTS", "http://root:sesame@a:1")]).expect_err("a user");
        assert!(!error.contains("sesame"), "{error}");
    }
}
