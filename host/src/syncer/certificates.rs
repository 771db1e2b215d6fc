//! Certificates in PEM: read, and told in words.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::step::MAX_SHOWN;
use crate::types::tame;

/// Something in PEM. Neither form of it shows what is in it.
#[derive(Clone, PartialEq, Eq)]
pub enum Pem {
    /// In a file, which is read anew for each connection.
    File(PathBuf),
    /// Written out where the name says.
    Text {
        /// Where it stands.
        name: &'static str,
        /// The text.
        text: Arc<str>,
    },
}

impl From<&Path> for Pem {
    fn from(file: &Path) -> Self {
        Self::File(file.to_owned())
    }
}

impl fmt::Display for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => file.display().fmt(f),
            Self::Text { name, .. } => name.fmt(f),
        }
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pem({self})")
    }
}

impl Pem {
    /// The certificates, of which there is one at least.
    ///
    /// # Errors
    /// There is none, or it cannot be read: where, and why.
    pub(super) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, String> {
        let read: Result<Vec<_>, _> = match self {
            Self::File(file) => CertificateDer::pem_file_iter(file).and_then(Iterator::collect),
            Self::Text { text, .. } => CertificateDer::pem_slice_iter(text.as_bytes()).collect(),
        };
        match read {
            Ok(certificates) if certificates.is_empty() => {
                Err(format!("{self}: there is no certificate in it"))
            }
            Ok(certificates) => Ok(certificates),
            Err(error) => Err(format!("{self}: cannot be read: {error}")),
        }
    }

    /// The certificates as authorities to trust.
    ///
    /// # Errors
    /// As [`Pem::certificates`], or one is of no use for that.
    pub(super) fn roots(&self) -> Result<RootCertStore, String> {
        let mut roots = RootCertStore::empty();
        for certificate in self.certificates()? {
            roots.add(certificate).map_err(|error| format!("{self}: {error}"))?;
        }
        Ok(roots)
    }

    /// The key.
    ///
    /// # Errors
    /// There is none that can be used.
    pub(super) fn key(&self) -> Result<PrivateKeyDer<'static>, String> {
        let read = match self {
            Self::File(file) => PrivateKeyDer::from_pem_file(file),
            Self::Text { text, .. } => PrivateKeyDer::from_pem_slice(text.as_bytes()),
        };
        read.map_err(|error| format!("{self}: there is no key that can be used: {error}"))
    }

    /// Says whom the first certificate names, and until when.
    ///
    /// # Errors
    /// It cannot be read, or is not valid now.
    pub(super) fn describe(&self) -> Result<String, String> {
        let all = self.certificates()?;
        let Some(first) = all.first() else { return Ok(String::new()) };
        let (_, certificate) = X509Certificate::from_der(first)
            .map_err(|error| format!("the certificate cannot be read: {error}"))?;
        let told = told(&certificate);
        match certificate.validity().is_valid() {
            true => Ok(told),
            false => Err(format!("it is not valid now; issue another one, or set the clock right: {told}")),
        }
    }
}

/// The names in a certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) common: Option<String>,
    pub(super) uris: Vec<String>,
    /// Hosts and addresses.
    pub(super) hosts: Vec<String>,
}

impl Names {
    /// The names in a certificate; none if they cannot be read.
    pub(super) fn of(certificate: &X509Certificate<'_>) -> Option<Self> {
        let common = certificate.subject().iter_common_name().last().and_then(|name| name.as_str().ok());
        let mut names = Self { common: common.map(str::to_owned), ..Self::default() };
        let alternative = certificate.subject_alternative_name().ok()?;
        for name in alternative.iter().flat_map(|names| &names.value.general_names) {
            match name {
                GeneralName::URI(uri) => names.uris.push((*uri).to_owned()),
                GeneralName::DNSName(host) => names.hosts.push((*host).to_owned()),
                GeneralName::IPAddress(bytes) => names.hosts.extend(address(bytes)),
                _ => {}
            }
        }
        Some(names)
    }
}

fn address(bytes: &[u8]) -> Option<String> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    let six = <[u8; 16]>::try_from(bytes).map(IpAddr::from);
    four.or(six).ok().map(|address| address.to_string())
}

/// What a certificate says of itself; none if it cannot be read.
pub(super) fn summary(certificate: &[u8]) -> Option<String> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let names = Names::of(&parsed)?;
    let shown = |what: &str, all: &[String]| match all.is_empty() {
        true => String::new(),
        false => format!(", {what} {}", tame(&all.join(", "), MAX_SHOWN)),
    };
    Some(format!("{}{}{}", told(&parsed), shown("URIs", &names.uris), shown("hosts", &names.hosts)))
}

fn told(certificate: &X509Certificate<'_>) -> String {
    let validity = certificate.validity();
    format!(
        "{}, signed by {}, valid from {} until {}",
        tame(&certificate.subject().to_string(), MAX_SHOWN),
        tame(&certificate.issuer().to_string(), MAX_SHOWN),
        validity.not_before,
        validity.not_after
    )
}
