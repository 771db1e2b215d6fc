//! Connections: TCP, and TLS on top where it is spoken.

use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, ToSocketAddrs};
use tokio_rustls::TlsConnector;

use super::certificates;

/// Bytes both ways.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A connection that is open.
pub(super) struct Dialled {
    pub(super) stream: Box<dyn Stream>,
    /// The server's certificate, in words.
    pub(super) peer: Option<String>,
}

/// How long a connection may be silent before the network is asked whether the other side is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Connects, within a time.
///
/// # Errors
/// What failed, in words.
pub(super) async fn dial(
    to: impl ToSocketAddrs,
    tls: Option<(ServerName<'static>, Arc<ClientConfig>)>,
    within: Duration,
) -> Result<Dialled, String> {
    match tokio::time::timeout(within, connect(to, tls)).await {
        Ok(opened) => opened,
        Err(_) => Err(format!("no connection within {} s", within.as_secs_f32())),
    }
}

async fn connect(
    to: impl ToSocketAddrs,
    tls: Option<(ServerName<'static>, Arc<ClientConfig>)>,
) -> Result<Dialled, String> {
    let stream = TcpStream::connect(to).await.map_err(|error| format!("no connection: {error}"))?;
    // Neither decides whether the connection can be used.
    let _ = stream.set_nodelay(true);
    let keep_alive = socket2::TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE);
    let _ = socket2::SockRef::from(&stream).set_tcp_keepalive(&keep_alive);
    let Some((name, config)) = tls else { return Ok(Dialled { stream: Box::new(stream), peer: None }) };
    let secured = TlsConnector::from(config).connect(name, stream).await;
    let secured = secured.map_err(|error| format!("TLS: {error}"))?;
    let certificates = secured.get_ref().1.peer_certificates().unwrap_or_default();
    let peer = certificates.first().and_then(|certificate| certificates::summary(certificate));
    Ok(Dialled { stream: Box::new(secured), peer })
}
