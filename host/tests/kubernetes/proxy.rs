//! Stands between the sources and the API server, in plain HTTP, and does harm when it is told to.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures::StreamExt;
use http::Method;
use http_body_util::BodyExt;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::server::{ADMIN, Server, kubeconfig};

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) path: String,
    pub(crate) at: Instant,
}

impl Seen {
    pub(crate) fn is_list(&self, resource: &str) -> bool {
        let is_other = self.is_watch(resource) || self.is_confirmation(resource);
        self.path.contains(&format!("/{resource}?")) && !is_other
    }

    pub(crate) fn is_watch(&self, resource: &str) -> bool {
        self.path.contains(&format!("/{resource}?")) && self.path.contains("watch=1")
    }

    /// It asks how far the API server is.
    pub(crate) fn is_confirmation(&self, resource: &str) -> bool {
        self.path.contains(&format!("/{resource}?")) && self.path.contains("NotOlderThan")
    }

    pub(crate) fn is_later_page(&self, resource: &str) -> bool {
        self.is_list(resource) && self.path.contains("continue=")
    }
}

/// What is done to a request or to its answer.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// It is answered with an error: the status, and after how many seconds to come again.
    Answer(u16, Option<u64>),
    /// It is answered with a watch that holds this error and ends.
    Event(u16),
    /// It asks for this version in the place of its own.
    Version(u64),
    /// After so many more bytes of the answer the connection is cut.
    Cut(usize),
    /// After so many more bytes of the answer nothing comes any more.
    Silence(usize),
    /// The answer comes in small pieces, so many milliseconds apart.
    Slow(u64),
}

impl Fault {
    /// It asks for the oldest version there is.
    pub(crate) const OLDEST: Self = Self::Version(1);
    /// It asks for a version that comes in years.
    pub(crate) const NEWEST: Self = Self::Version(1 << 40);
}

struct Rule {
    matches: Box<dyn Fn(&Seen) -> bool + Send>,
    times: usize,
    fault: Fault,
}

struct Shared {
    client: kube::Client,
    rules: Mutex<Vec<Rule>>,
    seen: Mutex<Vec<Seen>>,
}

impl Shared {
    /// The fault that a request, or its answer, meets now.
    fn fault(&self, seen: &Seen, of_answers: bool) -> Option<Fault> {
        let mut rules = self.rules.lock().unwrap();
        let rule = rules.iter_mut().find(|rule| {
            let is_of_answer = matches!(rule.fault, Fault::Cut(_) | Fault::Silence(_) | Fault::Slow(_));
            rule.times > 0 && is_of_answer == of_answers && (rule.matches)(seen)
        })?;
        rule.times -= 1;
        Some(rule.fault.clone())
    }
}

/// The proxy. When it is dropped, it listens no more, and every connection is cut.
pub(crate) struct Proxy {
    shared: Arc<Shared>,
    port: u16,
    runtime: Option<Runtime>,
}

impl Proxy {
    pub(crate) async fn start(server: &'static Server) -> Self {
        Self::start_at(server, 0).await
    }

    pub(crate) async fn start_at(server: &'static Server, port: u16) -> Self {
        Self::start_with(server, ADMIN, port).await
    }

    /// One that asks in the name of a user.
    pub(crate) async fn start_as(server: &'static Server, token: &str) -> Self {
        Self::start_with(server, token, 0).await
    }

    async fn start_with(server: &'static Server, token: &str, port: u16) -> Self {
        let token = token.to_owned();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let started = runtime.spawn(async move {
            let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let client = server.client(&token).await;
            let shared = Arc::new(Shared { client, rules: Mutex::default(), seen: Mutex::default() });
            let app = Router::new().fallback(forward).with_state(shared.clone());
            tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
            (shared, port)
        });
        let (shared, port) = started.await.unwrap();
        Self { shared, port, runtime: Some(runtime) }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// A kubeconfig that leads to the proxy.
    pub(crate) fn kubeconfig(&self) -> serde_json::Value {
        kubeconfig(&format!("http://127.0.0.1:{}", self.port), None, ADMIN)
    }

    /// Does harm to so many of the requests that match.
    pub(crate) fn harm(&self, times: usize, matches: impl Fn(&Seen) -> bool + Send + 'static, fault: Fault) {
        self.shared.rules.lock().unwrap().push(Rule { matches: Box::new(matches), times, fault });
    }

    /// Does no more harm.
    pub(crate) fn spare(&self) {
        self.shared.rules.lock().unwrap().clear();
    }

    /// Whether all the harm has been done that was to be.
    pub(crate) fn is_done(&self) -> bool {
        self.shared.rules.lock().unwrap().iter().all(|rule| rule.times == 0)
    }

    /// The requests so far that match.
    pub(crate) fn seen(&self, matches: impl Fn(&Seen) -> bool) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().iter().filter(|seen| matches(seen)).cloned().collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn forward(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let mut path = request.uri().path_and_query().unwrap().to_string();
    let seen = Seen { method: request.method().clone(), path: path.clone(), at: Instant::now() };
    shared.seen.lock().unwrap().push(seen.clone());
    let status =
        |code: u16| json!({"kind": "Status", "status": "Failure", "message": "harm is done", "code": code});
    match shared.fault(&seen, false) {
        Some(Fault::Answer(code, wait)) => {
            let mut answer = Response::builder().status(code);
            if let Some(wait) = wait {
                answer = answer.header("retry-after", wait.to_string());
            }
            return answer.body(Body::from(status(code).to_string())).unwrap();
        }
        Some(Fault::Event(code)) => {
            let event = json!({"type": "ERROR", "object": status(code)});
            return Response::new(Body::from(format!("{event}\n")));
        }
        Some(Fault::Version(version)) => {
            let (before, after) = path.split_once("resourceVersion=").unwrap();
            let after = after.split_once('&').map(|(_, after)| format!("&{after}")).unwrap_or_default();
            path = format!("{before}resourceVersion={version}{after}");
        }
        _ => {}
    }
    let (head, body) = request.into_parts();
    let mut upstream = http::Request::builder().method(head.method).uri(path);
    if let Some(r#type) = head.headers.get("content-type") {
        upstream = upstream.header("content-type", r#type);
    }
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap().to_vec();
    let upstream = upstream.body(kube::client::Body::from(body)).unwrap();
    let (parts, body) = shared.client.send(upstream).await.unwrap().into_parts();
    let data = body.into_data_stream().map(|piece| piece.map_err(axum::Error::new));
    // What is left of an answer that is to be harmed, and how.
    let mut harm: Option<(usize, Fault)> = None;
    let harmed = data.boxed().then(move |piece| {
        let mut after = None;
        let piece = piece.map(|mut piece| {
            if harm.is_none() {
                harm = shared.fault(&seen, true).and_then(|fault| match fault {
                    Fault::Cut(left) | Fault::Silence(left) => Some((left, fault)),
                    Fault::Slow(_) => Some((usize::MAX, fault)),
                    Fault::Answer(..) | Fault::Event(_) | Fault::Version(_) => None,
                });
            }
            if let Some((left, fault)) = &mut harm {
                if piece.len() > *left || matches!(fault, Fault::Slow(_)) {
                    piece.truncate(*left);
                    after = Some(fault.clone());
                }
                *left -= piece.len();
            }
            piece
        });
        async move { (piece, after) }
    });
    let pieces = harmed.flat_map(|(piece, after)| {
        if let (Ok(piece), Some(Fault::Slow(apart))) = (&piece, &after) {
            let apart = Duration::from_millis(*apart);
            let small: Vec<_> = piece.chunks(512).map(|small| Ok(Bytes::copy_from_slice(small))).collect();
            return futures::stream::iter(small)
                .then(move |small| async move {
                    tokio::time::sleep(apart).await;
                    small
                })
                .boxed();
        }
        let first = futures::stream::iter([piece]);
        match after {
            None => first.boxed(),
            Some(Fault::Silence(_)) => first.chain(futures::stream::pending()).boxed(),
            Some(_) => {
                let cut = Err(axum::Error::new(std::io::Error::other("cut")));
                // What was let through is on its way before the cut.
                let cut = futures::stream::once(async {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    cut
                });
                first.chain(cut).boxed()
            }
        }
    });
    let mut answer = Response::new(Body::from_stream(pieces));
    *answer.status_mut() = parts.status;
    answer
}
