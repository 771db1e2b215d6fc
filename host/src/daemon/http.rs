//! What the daemon tells over HTTP.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Path, Query as UrlQuery, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::connections::{Bounded, Caller};
use super::groups::HeldId;
use super::metrics::Metrics;
use super::status::{Board, Status, unready};
use super::{Command, Question};
use crate::explain::{Query, Topic};

/// The most requests that are answered at a time.
const MAX_REQUESTS: usize = 16;

/// The time that an answer may take.
const TIME: Duration = Duration::from_secs(10);

/// The largest body of a request, in bytes.
const MAX_BODY: usize = 4096;

/// How long the rounds may be busy with one group before the daemon counts as dead, besides the time that checks and
/// reloads may take.
const DEAD: Duration = Duration::from_secs(300);

/// How long the rounds may be busy with one group before the daemon counts as not ready.
const SLOW: Duration = Duration::from_secs(5);

/// Whom requests are handed to.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) questions: mpsc::Sender<Question>,
}

/// What is said to those who ask when the rounds have ended.
const ENDS: &str = "the daemon ends\n";

#[derive(Clone)]
struct Shared {
    board: Board,
    metrics: Arc<Metrics>,
    asked: Asked,
    places: Arc<Semaphore>,
    dead: Duration,
}

impl Shared {
    /// Why the daemon is not ready.
    fn reasons(&self, status: &Status) -> Vec<String> {
        let mut reasons = unready(status);
        let busy = self.metrics.busy_for();
        if busy > SLOW {
            reasons.push(format!("a check or a reload has been going on for {} s", busy.as_secs()));
        }
        reasons
    }
}

/// Answers until the program ends. `steps` is the time that a check and a reload may take together.
pub(super) async fn serve(
    listener: TcpListener,
    steps: Duration,
    board: Board,
    metrics: Arc<Metrics>,
    asked: Asked,
) -> std::io::Result<()> {
    let shared =
        Shared { board, metrics, asked, places: Arc::new(Semaphore::new(MAX_REQUESTS)), dead: DEAD + steps };
    let router = Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(text_of_metrics))
        .route("/status", get(status))
        .route("/confirm", post(confirm))
        .route("/explain/{topic}/{*subject}", get(explain))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn_with_state(shared.clone(), bounded))
        .with_state(shared);
    axum::serve(Bounded::new(listener), router.into_make_service_with_connect_info::<Caller>()).await
}

/// Bounds the number of requests and the time of each.
async fn bounded(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let Ok(_place) = shared.places.try_acquire() else {
        return (StatusCode::SERVICE_UNAVAILABLE, "too many requests at a time\n").into_response();
    };
    match tokio::time::timeout(TIME, next.run(request)).await {
        Ok(response) => response,
        Err(_) => (StatusCode::GATEWAY_TIMEOUT, "it took too long\n").into_response(),
    }
}

async fn livez(State(shared): State<Shared>) -> Response {
    let busy = shared.metrics.busy_for();
    if busy > shared.dead {
        let text = format!("one step has been going on for {} s\n", busy.as_secs());
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    }
    "ok\n".into_response()
}

async fn readyz(State(shared): State<Shared>) -> Response {
    let reasons = shared.reasons(&shared.board.read());
    if reasons.is_empty() {
        return "ok\n".into_response();
    }
    (StatusCode::SERVICE_UNAVAILABLE, reasons.join("\n") + "\n").into_response()
}

async fn text_of_metrics(State(shared): State<Shared>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], shared.metrics.text()).into_response()
}

async fn status(State(shared): State<Shared>) -> Response {
    let status = shared.board.read();
    let reasons = shared.reasons(&status);
    match serde_json::to_value(&*status) {
        Ok(mut value) => {
            value["ready"] = reasons.is_empty().into();
            value["unready"] = reasons.into();
            Json(value).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// The form of an explanation.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Form {
    #[default]
    Json,
    Text,
}

#[derive(Debug, Deserialize)]
struct ExplainOptions {
    #[serde(default)]
    output: Form,
}

async fn explain(
    State(shared): State<Shared>,
    Path((topic, subject)): Path<(String, String)>,
    options: Result<UrlQuery<ExplainOptions>, QueryRejection>,
) -> Response {
    let refuse = |code: StatusCode, text: String| (code, text + "\n").into_response();
    let options = match options {
        Ok(UrlQuery(options)) => options,
        Err(_) => return refuse(StatusCode::BAD_REQUEST, "output can be: json, text".to_owned()),
    };
    let topic: Topic = match topic.parse() {
        Ok(topic) => topic,
        Err(error) => return refuse(StatusCode::NOT_FOUND, error.to_string()),
    };
    let query = match Query::new(topic, &subject) {
        Ok(query) => query,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, error.to_string()),
    };
    let (answer, explained) = oneshot::channel();
    if shared.asked.questions.send((query, answer)).await.is_err() {
        return (StatusCode::SERVICE_UNAVAILABLE, ENDS).into_response();
    }
    match (explained.await, options.output) {
        (Ok(explanation), Form::Json) => Json(explanation).into_response(),
        (Ok(explanation), Form::Text) => explanation.to_string().into_response(),
        (Err(_), _) => (StatusCode::SERVICE_UNAVAILABLE, ENDS).into_response(),
    }
}

/// The ids of what is let through are the body. Answered on this machine alone, wherever else metrics may be read.
async fn confirm(
    State(shared): State<Shared>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    ids: String,
) -> Response {
    if !caller.is_here() {
        return (StatusCode::FORBIDDEN, "confirm on the node itself, at 127.0.0.1\n").into_response();
    }
    let ids: Result<Vec<HeldId>, String> = ids.split_whitespace().map(str::parse).collect();
    let ids = match ids {
        Ok(ids) if ids.is_empty() => {
            Err("the ids of what is to be let through are missing: `held` of the groups in \
                                          /status; they are the body"
                .to_owned())
        }
        ids => ids,
    };
    let ids = match ids {
        Ok(ids) => ids,
        Err(reason) => return (StatusCode::BAD_REQUEST, reason + "\n").into_response(),
    };
    let (answer, confirmed) = oneshot::channel();
    // When this is given up, the rounds see that nobody waits for the answer.
    if shared.asked.commands.send(Command::Confirm(ids, answer)).await.is_err() {
        return (StatusCode::SERVICE_UNAVAILABLE, ENDS).into_response();
    }
    match confirmed.await {
        Ok(Ok(groups)) => Json(json!({ "confirmed": groups })).into_response(),
        Ok(Err(reason)) => (StatusCode::CONFLICT, reason + "\n").into_response(),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, ENDS).into_response(),
    }
}
