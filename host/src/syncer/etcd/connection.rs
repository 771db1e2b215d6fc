//! A connection to a member, and what it is asked.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::Uri;
use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::client::Grpc;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use tonic::transport::Channel;
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

use super::config::{Config, Endpoint, Pace, Tls, User};
use super::failure::Failure;
use super::message::{
    AuthenticateRequest, AuthenticateResponse, RangeRequest, RangeResponse, StatusRequest, StatusResponse,
    WatchRequest, WatchResponse,
};
use crate::syncer::dial::{Dialled, dial};

/// How often HTTP/2 asks whether the other side is there, and how long an answer may take.
const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(10));

/// How much may be on its way before it is taken, in bytes: in one answer, and in all.
const WINDOWS: (u32, u32) = (1 << 20, 2 << 20);

/// A connection that is open.
pub(super) struct Connection {
    grpc: Grpc<Channel>,
    token: Option<MetadataValue<Ascii>>,
    /// The server's certificate, in words.
    peer: Option<String>,
    answer: Duration,
    /// What may be wrong when the server ends the connection before it has said anything.
    doubt: &'static str,
    /// Whether the server has answered at all.
    has_answered: bool,
}

impl Connection {
    /// Connects, and says who asks.
    pub(super) async fn open(config: &Config, to: &Endpoint, pace: &Pace) -> Result<Self, Failure> {
        let mut connection = Self::connect(&config.tls, to, pace).await?;
        if let Some(user) = &config.user {
            connection.token = connection.authenticate(user).await?;
        }
        Ok(connection)
    }

    /// Connects, in nobody's name.
    pub(super) async fn connect(tls: &Tls, to: &Endpoint, pace: &Pace) -> Result<Self, Failure> {
        let doubt = match (to.is_secure, &tls.identity) {
            (false, _) => "where etcd speaks TLS, write `https://` for its endpoint",
            (true, None) => {
                "if etcd asks for this node's certificate, name it by ETCD_CERT_FILE and ETCD_KEY_FILE"
            }
            (true, Some(_)) => "etcd must trust the authority that signed this node's certificate",
        };
        let tls = match to.is_secure {
            false => None,
            true => {
                let name = ServerName::try_from(to.host.clone());
                let name =
                    name.map_err(|_| Failure::Other(format!("{:?} is no name that TLS knows", to.host)))?;
                Some((name, client(tls).map_err(Failure::Other)?))
            }
        };
        let address = (to.host.as_str(), to.port);
        let Dialled { stream, peer } = dial(address, tls, pace.dial).await.map_err(Failure::Other)?;
        let broken = |error: &dyn Error| Failure::from(Status::unavailable(error.to_string()));
        let endpoint = tonic::transport::Endpoint::from_shared(to.to_string())
            .map_err(|error| broken(&error))?
            .http2_keep_alive_interval(KEEP_ALIVE.0)
            .keep_alive_timeout(KEEP_ALIVE.1)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(WINDOWS.0)
            .initial_connection_window_size(WINDOWS.1);
        // When it ends, so does everything that knows it.
        let mut once = Some(TokioIo::new(stream));
        let connector = tower::service_fn(move |_: Uri| {
            let stream = once.take().ok_or_else(|| io::Error::other("the connection has ended"));
            std::future::ready(stream)
        });
        let channel = tokio::time::timeout(pace.dial, endpoint.connect_with_connector(connector)).await;
        let channel = channel.map_err(|_| late(pace.dial))?.map_err(|error| broken(&error))?;
        let grpc = Grpc::new(channel).max_decoding_message_size(pace.message);
        Ok(Self { grpc, token: None, peer, answer: pace.answer, doubt, has_answered: false })
    }

    /// The server's certificate, in words; none without TLS.
    pub(super) fn peer(&self) -> Option<&str> {
        self.peer.as_deref()
    }

    /// Whether the server knows who asks, by a token.
    pub(super) fn is_known(&self) -> bool {
        self.token.is_some()
    }

    /// A token for a user; none where etcd asks nobody who he is.
    async fn authenticate(&mut self, user: &User) -> Result<Option<MetadataValue<Ascii>>, Failure> {
        let request = AuthenticateRequest { name: user.name.clone(), password: user.password().to_owned() };
        let path = PathAndQuery::from_static("/etcdserverpb.Auth/Authenticate");
        match self.unary::<_, AuthenticateResponse>(request, path).await {
            Ok(answer) => {
                let token = answer.token.parse();
                token.map(Some).map_err(|_| Failure::Other("the token for the user is no text".to_owned()))
            }
            Err(status) if status.message().contains("authentication is not enabled") => Ok(None),
            Err(status) => Err(self.failed(status).at("saying who asks")),
        }
    }

    /// Reads keys.
    pub(super) async fn range(&mut self, request: RangeRequest) -> Result<RangeResponse, Failure> {
        let path = PathAndQuery::from_static("/etcdserverpb.KV/Range");
        self.unary(request, path).await.map_err(|status| self.failed(status))
    }

    /// Asks the member how it is.
    pub(super) async fn status(&mut self) -> Result<StatusResponse, Failure> {
        let path = PathAndQuery::from_static("/etcdserverpb.Maintenance/Status");
        self.unary(StatusRequest {}, path).await.map_err(|status| self.failed(status))
    }

    /// Opens a stream of watches, which are asked for through the channel.
    pub(super) async fn watch(
        &mut self,
        asked: mpsc::Receiver<WatchRequest>,
    ) -> Result<Streaming<WatchResponse>, Failure> {
        let mut request = Request::new(ReceiverStream::new(asked));
        self.sign(request.metadata_mut());
        let path = PathAndQuery::from_static("/etcdserverpb.Watch/Watch");
        let codec = ProstCodec::<WatchRequest, WatchResponse>::default();
        let opened = async {
            self.grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
            self.grpc.streaming(request, path, codec).await
        };
        let opened = tokio::time::timeout(self.answer, opened).await;
        Ok(opened.map_err(|_| late(self.answer))??.into_inner())
    }

    async fn unary<Q, A>(&mut self, message: Q, path: PathAndQuery) -> Result<A, Status>
    where
        Q: prost::Message + Send + Sync + 'static,
        A: prost::Message + Default + Send + Sync + 'static,
    {
        let mut request = Request::new(message);
        self.sign(request.metadata_mut());
        let codec = ProstCodec::<Q, A>::default();
        let answered = async {
            self.grpc.ready().await.map_err(|error| Status::from_error(error.into()))?;
            self.grpc.unary(request, path, codec).await
        };
        match tokio::time::timeout(self.answer, answered).await {
            Ok(answer) => {
                // A refusal is an answer too; what has a cause comes from the way there.
                self.has_answered |=
                    answer.as_ref().map_or_else(|status| status.source().is_none(), |_| true);
                Ok(answer?.into_inner())
            }
            Err(_) => Err(Status::new(Code::DeadlineExceeded, late(self.answer).to_string())),
        }
    }

    /// Why something was not answered.
    fn failed(&self, status: Status) -> Failure {
        match Failure::from(status) {
            Failure::Other(reason) if !self.has_answered => {
                Failure::Other(format!("{reason}; {}", self.doubt))
            }
            other => other,
        }
    }

    /// Says who asks, and that a member without a leader is of no use.
    fn sign(&self, metadata: &mut MetadataMap) {
        metadata.insert("hasleader", MetadataValue::from_static("true"));
        if let Some(token) = &self.token {
            metadata.insert("token", token.clone());
        }
    }
}

fn late(within: Duration) -> Failure {
    Failure::Other(format!("there is no answer within {} s", within.as_secs_f32()))
}

/// TLS as etcd speaks it: the server's name is that of the endpoint.
///
/// # Errors
/// A file cannot be read or used: which one, and why.
pub(super) fn client(tls: &Tls) -> Result<Arc<ClientConfig>, String> {
    let roots = match &tls.authority {
        Some(authority) => authority.roots()?,
        None => {
            let mut roots = RootCertStore::empty();
            // Those that cannot be used are no reason to do without the others.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                return Err("the system has no authorities: set ETCD_CA_CERT_FILE".to_owned());
            }
            roots
        }
    };
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots);
    let mut client = match &tls.identity {
        None => builder.with_no_client_auth(),
        Some(identity) => builder
            .with_client_auth_cert(identity.certificate.certificates()?, identity.key.key()?)
            .map_err(|error| format!("{} and {}: {error}", identity.certificate, identity.key))?,
    };
    client.alpn_protocols = vec![b"h2".to_vec()];
    Ok(Arc::new(client))
}
