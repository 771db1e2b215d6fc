//! Certificates for servers and their clients.

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType,
};

/// A name that a certificate has beside its common name.
pub(crate) enum Name<'a> {
    Uri(&'a str),
    Host(&'a str),
    Address(IpAddr),
}

/// An authority, and a certificate of it for each of two sides; as files in a folder.
pub(crate) struct Papers<'a> {
    folder: &'a Path,
    issuer: Issuer<'static, KeyPair>,
}

impl<'a> Papers<'a> {
    pub(crate) fn new(folder: &'a Path, authority: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, authority);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        fs::write(folder.join(format!("{authority}.pem")), certificate.pem()).unwrap();
        Self { folder, issuer: Issuer::new(params, key) }
    }

    /// A certificate and its key in `NAME.pem` and `NAME.key`.
    pub(crate) fn sign(&self, name: &str, usage: ExtendedKeyUsagePurpose, names: &[Name<'_>]) {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![usage];
        params.subject_alt_names.extend(names.iter().map(|name| match name {
            Name::Uri(uri) => SanType::URI((*uri).try_into().unwrap()),
            Name::Host(host) => SanType::DnsName((*host).try_into().unwrap()),
            Name::Address(address) => SanType::IpAddress(*address),
        }));
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(self.folder.join(format!("{name}.pem")), certificate.pem()).unwrap();
        fs::write(self.folder.join(format!("{name}.key")), key.serialize_pem()).unwrap();
    }
}

/// A step tells whose certificate it is, who signed it, from when until when it is valid, and what else it is for.
pub(crate) fn told_of_certificate(told: &str, subject: &str, more: Option<&str>) {
    let parts = [subject, "signed by CN=authority", "valid from ", " until "];
    for part in parts.into_iter().chain(more) {
        assert!(told.contains(part), "{part}: {told}");
    }
}
