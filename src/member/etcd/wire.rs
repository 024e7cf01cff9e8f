//! The requests and answers of etcd's JSON gateway, `/v3` of etcd 3.4: numbers are texts, keys are
//! base64.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::ids::PartitionId;
use crate::neli::elections::etcd::{Answer, Holder, LeaseId, Request, Revision, Watched};

/// The code of gRPC for what does not exist.
const NOT_FOUND: i64 = 5;

/// The keys of one group: `<prefix>/<partition>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keys {
    prefix: String,
    /// The value of each key that the member creates: its life, for people.
    value: String,
}

impl Keys {
    pub(super) fn new(prefix: &str, value: String) -> Self {
        Self { prefix: format!("{prefix}/"), value }
    }

    fn key(&self, partition: PartitionId) -> String {
        STANDARD.encode(format!("{}{partition}", self.prefix))
    }

    /// All keys that begin with the prefix: `0` is the character after the slash.
    fn range(&self) -> Value {
        let end = format!("{}0", self.prefix.trim_end_matches('/'));
        json!({"key": STANDARD.encode(&self.prefix), "range_end": STANDARD.encode(end)})
    }

    fn partition(&self, key: &Value) -> Option<PartitionId> {
        let key = String::from_utf8(STANDARD.decode(key.as_str()?).ok()?).ok()?;
        key.strip_prefix(&self.prefix)?.parse().ok().map(PartitionId)
    }

    /// The path and the body of a request.
    pub(super) fn post(&self, request: Request) -> (&'static str, Value) {
        match request {
            Request::Grant(length) => ("lease/grant", json!({"TTL": seconds(length).to_string()})),
            Request::KeepAlive(LeaseId(id)) => ("lease/keepalive", json!({"ID": id.to_string()})),
            Request::Revoke(LeaseId(id)) => ("lease/revoke", json!({"ID": id.to_string()})),
            Request::Read => ("kv/range", self.range()),
            Request::Watch(Revision(from)) => {
                let mut create = self.range();
                if let Some(fields) = create.as_object_mut() {
                    fields.insert("start_revision".to_owned(), json!(from.to_string()));
                    fields.insert("filters".to_owned(), json!(["NOPUT"]));
                }
                ("watch", json!({"create_request": create}))
            }
            Request::Create(partition, LeaseId(lease)) => {
                let key = self.key(partition);
                let value = STANDARD.encode(&self.value);
                let absent = json!({"key": key, "target": "CREATE", "result": "EQUAL",
                    "create_revision": "0"});
                let put = json!({"key": key, "value": value, "lease": lease.to_string()});
                let transaction = json!({
                    "compare": [absent],
                    "success": [{"request_put": put}],
                    "failure": [{"request_range": {"key": key}}],
                });
                ("kv/txn", transaction)
            }
        }
    }

    /// The answer in the body of a response.
    pub(super) fn answer(&self, request: Request, body: &Value) -> Answer {
        if body.get("error").is_some() {
            let code = body.get("code").and_then(Value::as_i64);
            return if code == Some(NOT_FOUND) { Answer::NoLease } else { Answer::Failed };
        }
        self.read(request, body).unwrap_or(Answer::Failed)
    }

    fn read(&self, request: Request, body: &Value) -> Option<Answer> {
        let revision = || number(body.pointer("/header/revision")).map(Revision);
        Some(match request {
            Request::Grant(_) => {
                Answer::Granted(LeaseId(number(body.get("ID"))?), length(body.get("TTL"))?)
            }
            // A lease that does not exist has no length.
            Request::KeepAlive(_) => {
                let result = body.get("result")?;
                length(result.get("TTL")).map_or(Answer::NoLease, Answer::KeptAlive)
            }
            Request::Read => {
                let keys = body.get("kvs").and_then(Value::as_array).into_iter().flatten();
                let held = |key: &Value| Some((self.partition(key.get("key")?)?, holder(key)?));
                Answer::Keys(revision()?, keys.filter_map(held).collect())
            }
            Request::Create(_, lease) => {
                let created = body.get("succeeded").and_then(Value::as_bool) == Some(true);
                let there = body.pointer("/responses/0/response_range/kvs/0");
                let holder = match there {
                    _ if created => Holder { lease, created: revision()? },
                    there => holder(there?)?,
                };
                Answer::Held(revision()?, holder)
            }
            Request::Revoke(_) => Answer::Revoked,
            Request::Watch(_) => return None,
        })
    }

    /// What a line of a watch reports.
    pub(super) fn watched(&self, line: &Value) -> Vec<Watched> {
        let Some(result) = line.get("result") else { return vec![Watched::Ended] };
        if result.get("canceled").and_then(Value::as_bool) == Some(true) {
            return vec![Watched::Ended];
        }
        let events = result.get("events").and_then(Value::as_array).into_iter().flatten();
        let deleted = |event: &Value| {
            let of_key = event.get("type").and_then(Value::as_str) == Some("DELETE");
            let key = event.get("kv").filter(|_| of_key)?;
            let at = Revision(number(key.get("mod_revision"))?);
            Some(Watched::Deleted(self.partition(key.get("key")?)?, at))
        };
        events.filter_map(deleted).collect()
    }
}

fn holder(key: &Value) -> Option<Holder> {
    // A key without a lease was put by hand; no lease has the number 0.
    let lease = LeaseId(number(key.get("lease")).unwrap_or(0));
    Some(Holder { lease, created: Revision(number(key.get("create_revision"))?) })
}

fn number(value: Option<&Value>) -> Option<i64> {
    let value = value?;
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// The length of a lease; none if there is no such lease.
fn length(value: Option<&Value>) -> Option<Duration> {
    let seconds = u64::try_from(number(value)?).ok().filter(|seconds| *seconds > 0)?;
    Some(Duration::from_secs(seconds))
}

/// etcd counts leases in seconds: never fewer than asked for.
fn seconds(length: Duration) -> u64 {
    length.as_secs() + u64::from(length.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Keys {
        Keys::new("/t", "p1-1.1".to_owned())
    }

    fn answer(request: Request, body: &str) -> Answer {
        keys().answer(request, &serde_json::from_str(body).unwrap())
    }

    /// As etcd 3.4.23 writes them.
    #[test]
    fn answers_of_the_gateway_are_read() {
        let (k, lease) = (PartitionId(0), LeaseId(7));
        let granted = r#"{"header":{"revision":"1"},"ID":"7","TTL":"2"}"#;
        let two = Duration::from_secs(2);
        assert_eq!(answer(Request::Grant(two), granted), Answer::Granted(lease, two));
        let kept = r#"{"result":{"header":{"revision":"1"},"ID":"7","TTL":"2"}}"#;
        assert_eq!(answer(Request::KeepAlive(lease), kept), Answer::KeptAlive(two));
        let lost = r#"{"result":{"header":{"revision":"1"},"ID":"7"}}"#;
        assert_eq!(answer(Request::KeepAlive(lease), lost), Answer::NoLease);
        let create = Request::Create(k, lease);
        let ours = r#"{"header":{"revision":"2"},"succeeded":true,
            "responses":[{"response_put":{"header":{"revision":"2"}}}]}"#;
        let held = |lease, created| Holder { lease: LeaseId(lease), created: Revision(created) };
        assert_eq!(answer(create, ours), Answer::Held(Revision(2), held(7, 2)));
        let theirs = r#"{"header":{"revision":"9"},"responses":[{"response_range":{"kvs":[
            {"key":"L3QvMA==","create_revision":"3","mod_revision":"3","lease":"5"}]}}]}"#;
        assert_eq!(answer(create, theirs), Answer::Held(Revision(9), held(5, 3)));
        let no_lease = r#"{"error":"etcdserver: requested lease not found","code":5}"#;
        assert_eq!(answer(create, no_lease), Answer::NoLease);
        assert_eq!(
            answer(create, r#"{"error":"etcdserver: no leader","code":14}"#),
            Answer::Failed
        );
        let all = r#"{"header":{"revision":"4"},"kvs":[{"key":"L3QvMA==","create_revision":"2",
            "lease":"7"}],"count":"1"}"#;
        assert_eq!(answer(Request::Read, all), Answer::Keys(Revision(4), [(k, held(7, 2))].into()));
        assert_eq!(answer(Request::Read, "{}"), Answer::Failed);
    }

    #[test]
    fn only_deletions_are_watched() {
        let watched = |line| keys().watched(&serde_json::from_str(line).unwrap());
        let deleted = r#"{"result":{"events":[{"type":"DELETE","kv":{"key":"L3QvMA==",
            "mod_revision":"3"}},{"kv":{"key":"L3QvMA==","mod_revision":"4"}}]}}"#;
        assert_eq!(watched(deleted), [Watched::Deleted(PartitionId(0), Revision(3))]);
        assert_eq!(watched(r#"{"result":{"created":true}}"#), []);
        let compacted = r#"{"result":{"canceled":true,"compact_revision":"40"}}"#;
        assert_eq!(watched(compacted), [Watched::Ended]);
        assert_eq!(watched(r#"{"error":{"grpc_code":14}}"#), [Watched::Ended]);
    }

    #[test]
    fn a_lease_is_asked_for_in_whole_seconds() {
        let ttl = |ms| keys().post(Request::Grant(Duration::from_millis(ms))).1;
        assert_eq!(ttl(2_000), json!({"TTL": "2"}));
        assert_eq!(ttl(2_001), json!({"TTL": "3"}));
    }
}
