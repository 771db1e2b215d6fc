//! TLS as Typha and its clients speak it: both show certificates of one authority, and the server is known by the common
//! name or a URI of its certificate, never by its address.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::config::{ServerIdentity, Tls};
use crate::syncer::certificates::{Names, Pem};

/// Reads the files.
///
/// # Errors
/// A file cannot be read or used: which one, and why.
pub(super) fn client(tls: &Tls) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let roots = Pem::from(&*tls.authority).roots()?;
    let chain = Pem::from(&*tls.certificate).certificates()?;
    let key = Pem::from(&*tls.key).key()?;
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
        let names = X509Certificate::from_der(certificate).ok().and_then(|(_, parsed)| Names::of(&parsed));
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
