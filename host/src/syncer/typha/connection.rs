//! A connection to an instance.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::config::{At, Config};
use super::tls;
use crate::syncer::dial::{Dialled, Stream, dial};

/// A connection that is open.
pub(super) struct Connection {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
    /// The server's certificate, in words.
    peer: Option<String>,
}

/// How much is read at once, in bytes.
const PIECE: usize = 64 << 10;

impl Connection {
    /// Connects, within a time.
    ///
    /// # Errors
    /// What failed, in words.
    pub(super) async fn open(config: &Config, to: SocketAddr, within: Duration) -> Result<Self, String> {
        let tls = match &config.tls {
            None => None,
            Some(files) => {
                let name = match &config.at {
                    At::Address(address) => {
                        let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
                        ServerName::try_from(host.to_owned()).unwrap_or_else(|_| to.ip().into())
                    }
                    At::Service { .. } => to.ip().into(),
                };
                Some((name, tls::client(files)?))
            }
        };
        let Dialled { stream, peer } = dial(to, tls, within).await?;
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
