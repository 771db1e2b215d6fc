//! Connections with bounds: of their number, and of the time that each lasts.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

/// The most connections at a time; more of them wait.
const MAX_CONNECTIONS: usize = 64;

/// The time that a connection lasts: whoever sends or reads slowly holds a place no longer.
const LIFE: Duration = Duration::from_secs(15);

/// Accepts connections within the bounds.
pub(super) struct Bounded {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

impl Bounded {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self { listener, places: Arc::new(Semaphore::new(MAX_CONNECTIONS)) }
    }
}

impl Listener for Bounded {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        // The semaphore is never closed.
        let place = self.places.clone().acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.listener).await;
        (Connection { stream, end: Box::pin(tokio::time::sleep(LIFE)), _place: place }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Who asks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller(SocketAddr);

impl Caller {
    /// Whether it is a program on this machine that asks at a loopback address.
    pub(super) fn is_here(self) -> bool {
        self.0.ip().to_canonical().is_loopback()
    }
}

impl Connected<IncomingStream<'_, Bounded>> for Caller {
    fn connect_info(stream: IncomingStream<'_, Bounded>) -> Self {
        Self(*stream.remote_addr())
    }
}

/// A connection that ends by itself.
pub(super) struct Connection {
    stream: TcpStream,
    end: Pin<Box<Sleep>>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Connection {
    /// The stream, while there is time.
    fn stream(&mut self, context: &mut Context<'_>) -> io::Result<Pin<&mut TcpStream>> {
        match self.end.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(Pin::new(&mut self.stream)),
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut().stream(context) {
            Ok(stream) => stream.poll_read(context, buffer),
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut().stream(context) {
            Ok(stream) => stream.poll_write(context, bytes),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
