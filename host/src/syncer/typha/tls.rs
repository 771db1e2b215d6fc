//! TLS as Typha and its clients speak it: both show certificates of one authority, and the server is known by the common
//! name or a URI of its certificate, never by its address.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::config::{Names, ServerIdentity, Tls};
use crate::syncer::step::MAX_SHOWN;
use crate::types::tame;

/// Reads the files.
///
/// # Errors
/// A file cannot be read or used: which one, and why.
pub(super) fn client(tls: &Tls) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&tls.authority)? {
        roots.add(certificate).map_err(|error| format!("{}: {error}", tls.authority.display()))?;
    }
    let chain = certificates(&tls.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&tls.key)
        .map_err(|error| format!("{}: there is no key that can be used: {error}", tls.key.display()))?;
    let verifier = Verifier { roots, wanted: tls.server.clone(), provider: provider.clone() };
    ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_client_auth_cert(chain, key)
        .map(Arc::new)
        .map_err(|error| format!("{} and {}: {error}", tls.certificate.display(), tls.key.display()))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    match read {
        Ok(certificates) if certificates.is_empty() => {
            Err(format!("{}: there is no certificate in it", file.display()))
        }
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(format!("{}: cannot be read: {error}", file.display())),
    }
}

/// Takes a server of the authority and of the name that is wanted, whatever address it has.
#[derive(Debug)]
struct Verifier {
    roots: RootCertStore,
    wanted: ServerIdentity,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let parsed = ParsedCertificate::try_from(certificate)?;
        let algorithms = self.provider.signature_verification_algorithms.all;
        verify_server_cert_signed_by_trust_anchor(&parsed, &self.roots, intermediates, now, algorithms)?;
        let names = X509Certificate::from_der(certificate).ok().and_then(|(_, parsed)| names(&parsed));
        let names = names.ok_or(Error::InvalidCertificate(CertificateError::BadEncoding))?;
        if self.wanted.is_met(&names) {
            return Ok(ServerCertVerified::assertion());
        }
        let wanted = match &self.wanted {
            ServerIdentity::CommonName(common) => format!("the common name {common:?}"),
            ServerIdentity::Uri(uri) => format!("the URI {uri:?}"),
            ServerIdentity::Either(common, uri) => format!("the common name {common:?} or the URI {uri:?}"),
        };
        Err(Error::General(format!(
            "the server's certificate has the common name {:?} and the URIs {:?}, and not {wanted}",
            names.common.unwrap_or_default(),
            names.uris
        )))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// Says whom the first certificate in a file names, and until when.
///
/// # Errors
/// The file cannot be read, or the certificate is not valid now.
pub(super) fn describe(file: &Path) -> Result<String, String> {
    let all = certificates(file)?;
    let Some(first) = all.first() else { return Ok(String::new()) };
    let (_, certificate) = X509Certificate::from_der(first)
        .map_err(|error| format!("the certificate cannot be read: {error}"))?;
    let told = told(&certificate);
    match certificate.validity().is_valid() {
        true => Ok(told),
        false => Err(format!("it is not valid now; issue another one, or set the clock right: {told}")),
    }
}

/// What a certificate says of itself; none if it cannot be read.
pub(super) fn summary(certificate: &[u8]) -> Option<String> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let uris = names(&parsed)?.uris;
    let uris = match uris.is_empty() {
        true => String::new(),
        false => format!(", URIs {}", tame(&uris.join(", "), MAX_SHOWN)),
    };
    Some(format!("{}{uris}", told(&parsed)))
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

/// The names in a certificate; none if they cannot be read.
fn names(certificate: &X509Certificate<'_>) -> Option<Names> {
    let common = certificate.subject().iter_common_name().last().and_then(|name| name.as_str().ok());
    let alternative = certificate.subject_alternative_name().ok()?;
    let uris = alternative.iter().flat_map(|names| &names.value.general_names);
    let uris = uris.filter_map(|name| match name {
        GeneralName::URI(uri) => Some((*uri).to_owned()),
        _ => None,
    });
    Some(Names { common: common.map(str::to_owned), uris: uris.collect() })
}
