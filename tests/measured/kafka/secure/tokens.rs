//! Members that present a token (OAUTHBEARER): it is read again at each authentication, and a
//! refused one is named by its place. The brokers check when it expires, but no signature.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use support::experiment::eventually;
use tandem::kafka::{Cluster, MembershipClient};
use tandem::time::{Mono, Wall};

use support::kafka::members::{One, SOON, TOPIC, WIDTH, access};
use support::kafka::secured::{Secured, said};

const TOKEN: &str = "sasl.oauthbearer.token";
/// Two of the sessions that the brokers allow, and a second.
const TWO_SESSIONS: Duration = Duration::from_secs(21);
const HOUR_S: i64 = 3_600;
/// Of the members in their group.
const SESSION: Duration = Duration::from_secs(2);

/// A token without a signature (RFC 7515, appendix A.5) that lasts so long from now.
fn token(user: &str, lasts_s: i64) -> String {
    let now_s = Wall::now().0 / 1_000;
    let part = |json: &str| URL_SAFE_NO_PAD.encode(json);
    let claims =
        format!("{{\"sub\":\"{user}\",\"iat\":{},\"exp\":{}}}", now_s - HOUR_S, now_s + lasts_s);
    format!("{}.{}.", part("{\"alg\":\"none\"}"), part(&claims))
}

/// Replaces a token as issuers do: readers see the old one or the new one.
fn replace(file: &Path, token: &str) {
    let part = file.with_extension("part");
    std::fs::write(&part, token).unwrap();
    std::fs::rename(&part, file).unwrap();
}

fn token_file(secured: &Secured, name: &str, token: &str) -> PathBuf {
    let file = secured.folder.path().join(name);
    replace(&file, token);
    file
}

fn by_token(secured: &Secured, file: &Path) -> Cluster {
    let ca = secured.file("ca.pem").display().to_string();
    let properties = [
        ("security.protocol", "SASL_SSL"),
        ("ssl.ca.location", &ca),
        ("sasl.mechanism", "OAUTHBEARER"),
    ];
    let access = access(&properties, &[(TOKEN, file)]);
    Cluster { bootstrap: secured.kafka.bootstraps[0].clone(), access }
}

/// Every partition is led, by one member, and each member leads some.
fn all_lead(members: &[One]) -> Option<()> {
    let led: Vec<_> = members.iter().map(|it| it.seen.lock().unwrap().led.clone()).collect();
    let total: usize = led.iter().map(BTreeSet::len).sum();
    let width = usize::try_from(WIDTH).unwrap();
    let all: BTreeSet<_> = led.iter().flatten().collect();
    let some = led.iter().all(|it| !it.is_empty());
    (some && total == width && all.len() == width).then_some(())
}

/// All lead soon; else the failure says what happened to each of them.
fn lead_soon(what: &str, members: &[One]) {
    let late = Mono::now() + SOON;
    let done = eventually(what, SOON * 2, || match all_lead(members) {
        Some(()) => Some(true),
        None => (Mono::now() > late).then_some(false),
    });
    let states: Vec<_> = members.iter().map(|it| it.seen.lock().unwrap()).collect();
    assert!(done, "{what}: not within {SOON:?}: {states:#?}");
}

/// The first trouble from the one of this number on.
fn trouble(member: &One, from: usize) -> Option<String> {
    member.seen.lock().unwrap().troubles.get(from).cloned()
}

#[test]
fn members_lead_by_a_token_that_is_replaced_while_they_lead() {
    let secured = Secured::alone(1);
    secured.create_topic();
    let mine = token("tandem-member", HOUR_S);
    let file = token_file(&secured, "token", &mine);
    let (own, library) = (MembershipClient::Own, MembershipClient::Library);
    let join =
        |life, membership| One::join(life, TOPIC, by_token(&secured, &file), membership, SESSION);
    let members = [join("m-1.1", own), join("m-2.1", library)];
    lead_soon("both lead", &members);

    let good = token("tandem-member", 2 * HOUR_S);
    assert_ne!(good, mine);
    replace(&file, &good);
    let before = members.each_ref().map(|it| it.seen.lock().unwrap().troubles.len());
    let since = Mono::now();
    eventually("two sessions are over", SOON, || {
        (Mono::now().since(since) > TWO_SESSIONS).then_some(())
    });
    let after = members.each_ref().map(|it| it.seen.lock().unwrap().troubles.clone());
    assert_eq!(after.each_ref().map(Vec::len), before, "{after:?}");
    lead_soon("no session has an end for a member", &members);

    // That they have presented the new one, a bad one shows.
    let old = token("tandem-member", -60);
    replace(&file, &old);
    for (member, from) in members.iter().zip(before) {
        let why = eventually("a member misses a good token", SOON, || trouble(member, from));
        let expected = format!("with the token in file {}: ", file.display());
        assert!(why.contains(&expected), "{why}");
        assert!(why.contains("clock the token expired ") && !why.contains(&old), "{why}");
    }
    replace(&file, &good);
    lead_soon("both lead again", &members);
    drop(members);

    let bad = token_file(&secured, "bad", "not-a-token");
    for membership in [own, library] {
        let refused = One::join("m-3.1", TOPIC, by_token(&secured, &bad), membership, SESSION);
        let why = refused.trouble();
        let expected = format!("with the token in file {}: ", bad.display());
        assert!(why.contains(&expected) && !why.contains("not-a-token"), "{why}");
        assert_eq!(refused.held(), BTreeSet::new());
    }
    secured.delete_topic();
}

/// `--set` for members with this token, and for a controller with the other or with its password.
fn by_tokens(secured: &Secured, member: &Path, controller: Option<&Path>) -> Vec<String> {
    let (ca, member) = (secured.file("ca.pem"), member.display());
    let controller = match controller {
        Some(file) => format!("{{secrets: {{{TOKEN}: {{file: {}}}}}}}", file.display()),
        None => "{properties: {sasl.mechanism: SCRAM-SHA-512, sasl.username: tandem-controller}, \
                 secrets: {sasl.password: {env: TANDEM_CONTROLLER_PASSWORD}}}"
            .to_owned(),
    };
    vec![
        format!(
            "clusters.a.properties={{security.protocol: SASL_SSL, ssl.ca.location: {}, \
             sasl.mechanism: OAUTHBEARER}}",
            ca.display()
        ),
        format!("clusters.a.secrets={{{TOKEN}: {{file: {member}}}}}"),
        format!("clusters.a.controller={controller}"),
    ]
}

/// A command on the one cluster.
fn command(secured: &Secured, word: &str, set: &[String]) -> Command {
    let mut command = secured.tandem(&[word]);
    command.arg("-f").arg(secured.solo());
    for set in set {
        command.args(["--set", set]);
    }
    command
}

/// It must end with this code; what it says.
fn ends(secured: &Secured, word: &str, set: &[String], code: i32) -> String {
    let done = said(command(secured, word, set));
    assert_eq!(done.code, Some(code), "{word}: {}", done.text);
    done.text
}

#[test]
fn a_controller_with_a_token_says_which_topics_to_make_and_to_delete() {
    let secured = Secured::alone(1);
    let member = token_file(&secured, "member", &token("tandem-member", HOUR_S));
    let controller = token_file(&secured, "controller", &token("tandem-controller", HOUR_S));
    let by_password = by_tokens(&secured, &member, None);
    let by_token = by_tokens(&secured, &member, Some(&controller));

    ends(&secured, "doctor", &by_password, 0);
    let refused = ends(&secured, "doctor", &by_token, 1);
    assert!(refused.contains("Tandem cannot create topic kafka-secure-p1"), "{refused}");
    assert!(refused.contains("create it with Kafka's own tools"), "{refused}");
    for (name, bad) in [("old", token("tandem-member", -60)), ("bad", "not-a-token".to_owned())] {
        let file = token_file(&secured, name, &bad);
        for set in [by_tokens(&secured, &file, None), by_tokens(&secured, &member, Some(&file))] {
            let refused = ends(&secured, "doctor", &set, 1);
            let expected = format!("cannot log in with the token in file {}: ", file.display());
            assert!(refused.contains(&expected) && !refused.contains(&bad), "{refused}");
        }
    }

    // Members in processes of their own; their topic stays.
    let mut up = command(&secured, "up", &by_password);
    up.args(["--for", "2s", "--keep"]);
    let done = said(up);
    assert_eq!(done.code, Some(0), "{}", done.text);
    ends(&secured, "doctor", &by_token, 0);
    let kept = ends(&secured, "down", &by_token, 1);
    assert!(kept.contains("Tandem cannot delete topic kafka-secure-p1"), "{kept}");
    let mut tool = secured.admin("org.apache.kafka.tools.TopicCommand");
    let done = tool.args(["--delete", "--topic", "kafka-secure-p1"]).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    eventually("the topic is gone, and forgotten", SOON, || {
        let down = said(command(&secured, "down", &by_token));
        (down.code == Some(0)).then_some(())
    });
}
