//! A connection to an instance.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::config::{At, Config};
use super::tls;

/// Bytes both ways.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A connection that is open.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
    /// The server's certificate, in words.
    peer: Option<String>,
}

/// How much is read at once, in bytes.
const PIECE: usize = 64 << 10;

/// How long a connection may be silent before the network is asked whether the other side is there.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

impl Connection {
    /// Connects, within a time.
    ///
    /// # Errors
    /// What failed, in words.
    pub(super) async fn open(config: &Config, to: SocketAddr, within: Duration) -> Result<Self, String> {
        match tokio::time::timeout(within, Self::dial(config, to)).await {
            Ok(opened) => opened,
            Err(_) => Err(format!("no connection within {} s", within.as_secs_f32())),
        }
    }

    async fn dial(config: &Config, to: SocketAddr) -> Result<Self, String> {
        let stream = TcpStream::connect(to).await.map_err(|error| format!("no connection: {error}"))?;
        // Neither decides whether the connection can be used.
        let _ = stream.set_nodelay(true);
        let keep_alive = socket2::TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE);
        let _ = socket2::SockRef::from(&stream).set_tcp_keepalive(&keep_alive);
        let mut peer = None;
        let stream: Box<dyn Stream> = match &config.tls {
            None => Box::new(stream),
            Some(files) => {
                let name = match &config.at {
                    At::Address(address) => {
                        let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
                        ServerName::try_from(host.to_owned()).unwrap_or_else(|_| to.ip().into())
                    }
                    At::Service { .. } => to.ip().into(),
                };
                let connector = TlsConnector::from(tls::client(files)?);
                let secured = connector.connect(name, stream).await;
                let secured = secured.map_err(|error| format!("TLS: {error}"))?;
                let certificates = secured.get_ref().1.peer_certificates().unwrap_or_default();
                peer = certificates.first().and_then(|certificate| tls::summary(certificate));
                Box::new(secured)
            }
        };
        Ok(Self { stream, buffer: vec![0; PIECE], peer })
    }

    /// The server's certificate, in words; none without TLS.
    pub(super) fn peer(&self) -> Option<&str> {
        self.peer.as_deref()
    }

    /// Sends, within a time.
    ///
    /// # Errors
    /// The connection is of no more use.
    pub(super) async fn send(&mut self, bytes: &[u8], within: Duration) -> Result<(), String> {
        let sent = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        match tokio::time::timeout(within, sent).await {
            Ok(sent) => sent.map_err(|error| lost(&error)),
            Err(_) => Err(format!("the server takes nothing within {} s", within.as_secs_f32())),
        }
    }

    /// What comes next; never empty.
    ///
    /// # Errors
    /// The connection is of no more use.
    pub(super) async fn receive(&mut self) -> Result<&[u8], String> {
        match self.stream.read(&mut self.buffer).await {
            Ok(0) => Err("the server has closed the connection".to_owned()),
            Ok(size) => Ok(&self.buffer[..size]),
            Err(error) => Err(lost(&error)),
        }
    }
}

fn lost(error: &io::Error) -> String {
    match error.kind() {
        // Whom TLS does not let in learns it from the first thing that it reads.
        io::ErrorKind::InvalidData => format!("the connection is broken: TLS: {error}"),
        _ => format!("the connection is broken: {error}"),
    }
}
