//! The paths of the sidecar.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use serde::Serialize;

use super::access::{Access, Ends};
use super::answers::{HealthBody, Leading, NotLeading, Problem};
use super::events::stream;
use super::openapi::openapi;
use crate::hold::Holder;
use crate::ids::{RoleIndex, RoleName};
use crate::time::Mono;

/// The longest body of a request.
const BODY_MAX: usize = 4 << 10;

/// What every request is answered from.
struct Answering {
    holder: Arc<Holder>,
    access: Access,
}

type Answers = State<Arc<Answering>>;

pub(super) fn router(holder: Arc<Holder>, access: Access) -> Router {
    Router::new()
        .route("/v1/roles/{role}", get(role))
        .route("/v1/keys/{key}", get(key))
        .route("/v1/events", get(events))
        .route("/v1/health", put(health))
        .route("/livez", get(|| std::future::ready("alive\n")))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .route("/openapi.json", get(|| std::future::ready(json(StatusCode::OK, &openapi()))))
        .fallback(|| std::future::ready(failed(StatusCode::NOT_FOUND, "see GET /openapi.json")))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .with_state(Arc::new(Answering { holder, access }))
}

fn json(status: StatusCode, body: &impl Serialize) -> Response {
    let text = serde_json::to_string(body).unwrap_or_default();
    // An answer is true of its instant: no cache may keep it.
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (status, headers, text + "\n").into_response()
}

fn failed(status: StatusCode, error: impl Into<String>) -> Response {
    json(status, &Problem { error: error.into() })
}

async fn role(State(this): Answers, Path(name): Path<String>) -> Response {
    let holder = &this.holder;
    let Some((role, name)) = holder.role(&name) else {
        let what = format!("{} has no role `{}`", holder.topology, crate::shown::line(&name));
        return failed(StatusCode::NOT_FOUND, what);
    };
    leads(holder, role, name)
}

async fn key(State(this): Answers, Path(key): Path<String>) -> Response {
    let holder = &this.holder;
    let Some((role, name)) = holder.role_of(&key) else {
        let what = format!("{} has no slots, so its keys have no roles", holder.topology);
        return failed(StatusCode::NOT_FOUND, what);
    };
    leads(holder, role, name)
}

/// Whether the member leads this role.
fn leads(holder: &Holder, role: RoleIndex, name: RoleName) -> Response {
    match holder.member.claim(role) {
        Some(claim) => json(StatusCode::OK, &Leading::of(holder, name, claim)),
        None => {
            let leader = holder.member.leader_of(role).filter(|it| it.life != holder.life);
            let leader = leader.and_then(|leader| leader.address);
            let body = NotLeading { role: name, group: holder.group.clone(), leader };
            json(StatusCode::CONFLICT, &body)
        }
    }
}

async fn events(State(this): Answers) -> Response {
    let stream = Sse::new(stream(Arc::clone(&this.holder)));
    stream.keep_alive(KeepAlive::default()).into_response()
}

async fn health(
    State(this): Answers,
    ConnectInfo(ends): ConnectInfo<Ends>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    // The kernel is asked about one connection, which takes microseconds.
    if let Err((status, why)) = this.access.admits(ends, &headers) {
        return failed(status, why);
    }
    match serde_json::from_slice::<HealthBody>(&body) {
        Ok(body) => {
            this.holder.health(body.well);
            json(StatusCode::OK, &body)
        }
        Err(error) => failed(StatusCode::BAD_REQUEST, format!("{error}; write {{\"well\": true}}")),
    }
}

async fn ready(State(this): Answers) -> Response {
    let holder = &this.holder;
    let unready = if holder.is_well() { holder.status.unready() } else { Some(ILL.to_owned()) };
    match unready {
        None => "ready\n".into_response(),
        Some(why) => failed(StatusCode::SERVICE_UNAVAILABLE, why),
    }
}

/// Why an ill member is not ready.
const ILL: &str = "the program has said that it cannot do the work of a leader";

async fn metrics(State(this): Answers) -> Response {
    let (holder, now) = (&this.holder, Mono::now());
    let led = holder.member.claims().led(now).len();
    let count = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    let status = &holder.status;
    let connected = u64::from(status.unready().is_none());
    let rows = [
        ("tandem_hold_led_partitions", "gauge", "Partitions that the member leads.", of(led)),
        ("tandem_hold_claims_total", "counter", "Claims begun.", count(&status.claimed)),
        ("tandem_hold_lapses_total", "counter", "Claims ended.", count(&status.lapsed)),
        ("tandem_hold_connected", "gauge", "1 if the member reaches its brokers.", connected),
        ("tandem_hold_well", "gauge", "1 if the program is well.", u64::from(holder.is_well())),
    ];
    let mut text = String::new();
    for (name, kind, help, value) in rows {
        // Writing to a string cannot fail.
        write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n").ok();
        let (group, member) = (&holder.group, &holder.life.member);
        writeln!(text, "{name}{{group=\"{group}\",member=\"{member}\"}} {value}").ok();
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}

fn of(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
