//! The way to the API server: address and credentials, read again when they may have changed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt, Limited};
use kube::client::{Body, ConfigExt};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::failure::Failure;

/// Where the API server's address and the credentials stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The file or files that `KUBECONFIG` names, else the pod's service account, else `~/.kube/config`.
    Environment,
    /// A kubeconfig file.
    File(PathBuf),
}

/// The API server cannot be reached for want of a usable configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no way to the Kubernetes API: {0}")]
pub struct AccessError(String);

/// The way to the API server of a cluster. Clones have connections and credentials in common.
#[derive(Debug, Clone)]
pub struct Access {
    place: Place,
    current: Arc<Mutex<Current>>,
}

struct Current {
    config: Config,
    /// Once something was asked for: a client belongs to the runtime that it is made in.
    client: Option<Client>,
    read: Instant,
}

impl std::fmt::Debug for Current {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Current").field("read", &self.read).finish_non_exhaustive()
    }
}

/// A server, and the TLS that is spoken with it.
pub(super) struct Server {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: Option<(ServerName<'static>, Arc<ClientConfig>)>,
}

/// How often address and credentials are read again at most: while they are refused, and while there is no connection,
/// of which they may be the reason too. A program may have to be run to have them.
const REFUSED: Duration = Duration::from_secs(1);
const UNREACHABLE: Duration = Duration::from_secs(30);

/// The most that an error's text may have, in bytes.
const MAX_ERROR: usize = 64 << 10;

impl Access {
    /// Reads address and credentials. Nothing is connected yet.
    ///
    /// # Errors
    /// They are not there, or cannot be used.
    pub async fn open(place: Place) -> Result<Self, AccessError> {
        let config = read(&place).await?;
        let current = Current { config, client: None, read: Instant::now() };
        Ok(Self { place, current: Arc::new(Mutex::new(current)) })
    }

    fn client(&self) -> Result<Client, Failure> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = &current.client {
            return Ok(client.clone());
        }
        let made = Client::try_from(current.config.clone());
        let client = made.map_err(|error| Failure::from_error(&error))?;
        current.client = Some(client.clone());
        Ok(client)
    }

    /// The server that is connected to; none where a proxy is in its place.
    ///
    /// # Errors
    /// What is said of TLS cannot be used: why.
    pub(super) fn server(&self) -> Result<Option<Server>, String> {
        let config = self.current.lock().unwrap_or_else(PoisonError::into_inner).config.clone();
        if config.proxy_url.is_some() {
            return Ok(None);
        }
        let host = config.cluster_url.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let is_secure = config.cluster_url.scheme_str() == Some("https");
        let port = config.cluster_url.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let tls = match is_secure {
            false => None,
            true => {
                let name = config.tls_server_name.clone().unwrap_or_else(|| host.clone());
                let unknown = format!("{name:?} is no name that TLS knows");
                let name = ServerName::try_from(name).map_err(|_| unknown)?;
                let client = config.rustls_client_config();
                let client = client.map_err(|error| Failure::from_error(&error).to_string())?;
                Some((name, Arc::new(client)))
            }
        };
        Ok(Some(Server { host, port, tls }))
    }

    /// Asks for a path and waits until the answer begins, no longer than a time.
    pub(super) async fn get(&self, path: &str, at_most: Duration) -> Result<Response<Body>, Failure> {
        let request = Request::get(path).header(header::ACCEPT, "application/json").body(Body::empty());
        self.answer(request, at_most).await
    }

    /// Sends something, and reads the answer.
    pub(super) async fn send(
        &self,
        method: Method,
        path: &str,
        r#type: &str,
        body: Vec<u8>,
        at_most: Duration,
    ) -> Result<Vec<u8>, Failure> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::ACCEPT, "application/json")
            .header(header::CONTENT_TYPE, r#type)
            .body(Body::from(body));
        whole(self.answer(request, at_most).await?, at_most).await
    }

    async fn answer(
        &self,
        request: http::Result<Request<Body>>,
        at_most: Duration,
    ) -> Result<Response<Body>, Failure> {
        let request = request.map_err(|error| Failure::from_error(&error))?;
        let client = self.client()?;
        let answer = match tokio::time::timeout(at_most, client.send(request)).await {
            Ok(answer) => answer.map_err(|error| Failure::from_error(&error))?,
            Err(_) => return Err(Failure::Broken(format!("no answer within {} s", at_most.as_secs_f32()))),
        };
        if answer.status().is_success() {
            return Ok(answer);
        }
        let code = answer.status().as_u16();
        let wait = answer.headers().get(header::RETRY_AFTER).cloned();
        let text = Limited::new(answer.into_body(), MAX_ERROR).collect();
        let text = match tokio::time::timeout(at_most, text).await {
            Ok(Ok(text)) => text.to_bytes(),
            _ => Default::default(),
        };
        Err(Failure::from_answer(code, wait.as_ref().and_then(|wait| wait.to_str().ok()), &text))
    }

    /// The same for an answer that is small.
    pub(in crate::syncer) async fn get_whole(
        &self,
        path: &str,
        at_most: Duration,
    ) -> Result<Vec<u8>, Failure> {
        whole(self.get(path, at_most).await?, at_most).await
    }

    /// Reads address and credentials again if others could help: tokens are replaced, and certificates. What cannot be
    /// read stays as it was.
    pub(in crate::syncer) async fn renew_after(&self, failure: &Failure) {
        let at_least = match failure {
            Failure::Refused { code: 401, .. } => REFUSED,
            Failure::Refused { .. } => return,
            Failure::Broken(_) => UNREACHABLE,
        };
        {
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            if current.read.elapsed() < at_least {
                return;
            }
            current.read = Instant::now();
        }
        match read(&self.place).await {
            Ok(config) => {
                let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
                (current.config, current.client) = (config, None);
            }
            Err(error) => tracing::warn!("{error}"),
        }
    }
}

/// All of an answer that is small.
async fn whole(answer: Response<Body>, at_most: Duration) -> Result<Vec<u8>, Failure> {
    const MAX: usize = 16 << 20;
    let body = Limited::new(answer.into_body(), MAX).collect();
    match tokio::time::timeout(at_most, body).await {
        Ok(Ok(body)) => Ok(body.to_bytes().to_vec()),
        Ok(Err(error)) => Err(Failure::from_error(&*error)),
        Err(_) => Err(Failure::Broken("the answer does not end".to_owned())),
    }
}

async fn read(place: &Place) -> Result<Config, AccessError> {
    let fail = |error: &dyn std::error::Error| AccessError(Failure::from_error(error).to_string());
    let mut config = match place {
        Place::File(path) => from_file(path).await?,
        Place::Environment => {
            let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            if !set("KUBECONFIG") && set("KUBERNETES_SERVICE_HOST") {
                Config::incluster_env().map_err(|error| fail(&error))?
            } else {
                let options = KubeConfigOptions::default();
                Config::from_kubeconfig(&options).await.map_err(|error| {
                    let AccessError(text) = fail(&error);
                    AccessError(format!(
                        "{text}; KUBECONFIG names the file to use, and in a pod there is none to name"
                    ))
                })?
            }
        }
    };
    // Retries, their distances and the time that an answer may take are decided by those who ask.
    config.default_retry = false;
    config.read_timeout = None;
    let agent = HeaderValue::from_static(concat!("tailorbird/", env!("CARGO_PKG_VERSION")));
    config.headers.push((header::USER_AGENT, agent));
    config.rustls_client_config().map_err(|error| fail(&error))?;
    Ok(config)
}

async fn from_file(path: &Path) -> Result<Config, AccessError> {
    let fail = |error: &dyn std::error::Error| {
        AccessError(format!("{}: {}", path.display(), Failure::from_error(error)))
    };
    let file = Kubeconfig::read_from(path).map_err(|error| fail(&error))?;
    Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.map_err(|error| fail(&error))
}
