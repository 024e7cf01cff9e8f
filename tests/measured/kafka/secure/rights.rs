//! With the documented rights everything works, and with each one missing there is a message that
//! says who lacks which right on what.

use support::kafka::secured::{Said, Secured, refused, said};

const MEMBER: &str = "tandem-member";
const CONTROLLER: &str = "tandem-controller";
const TOPIC: [&str; 4] = ["--resource-pattern-type", "prefixed", "--topic", "kafka-secure-"];
const GROUP: [&str; 4] = ["--resource-pattern-type", "prefixed", "--group", "kafka-secure-"];

/// Of a run that must end before a member is started.
fn run_once(secured: &Secured, out: &str) -> Said {
    let (solo, out) = (secured.solo(), secured.folder.path().join(out));
    let solo = solo.to_str().unwrap();
    let mut run = secured.tandem(&["chaos", "run", "chaos/kill-leader.yaml", "-f", solo]);
    run.args(["--trials", "1", "--out"]).arg(&out);
    let done = said(run);
    assert!(!out.join("logs/p1-1.log").exists(), "a member was started: {}", done.text);
    done
}

#[test]
fn each_missing_right_is_reported_with_its_user_and_resource() {
    let secured = Secured::alone(1);
    let doctor = || said(secured.doctor(&[]));
    let done = doctor();
    assert_eq!(done.code, Some(0), "{}", done.text);
    assert!(!done.text.contains("warn"), "{}", done.text);

    let done = secured.without(MEMBER, "Read", &GROUP, doctor);
    refused(&done, "user tandem-member lacks the right Read on consumer group kafka-secure-p1");
    let done = secured.without(MEMBER, "Read", &TOPIC, doctor);
    refused(&done, "user tandem-member lacks the right Read on topic kafka-secure-p1");
    let done = secured.without(CONTROLLER, "Create", &TOPIC, doctor);
    refused(&done, "user tandem-controller lacks the right Create on topic kafka-secure-p1");
    let done = secured.without(CONTROLLER, "Describe", &GROUP, doctor);
    let group = "user tandem-controller lacks the right Describe on consumer group kafka-secure-p1";
    refused(&done, group);
    // Delete carries Describe.
    let done = secured.without(CONTROLLER, "Delete", &TOPIC, doctor);
    refused(&done, "user tandem-controller lacks the right Describe on topic kafka-secure-p1");

    // A missing right that shows only once the topic exists: no member was started, and the topic
    // is removed again.
    let done = secured.without(MEMBER, "Write", &TOPIC, || run_once(&secured, "no-write"));
    refused(&done, "user tandem-member lacks the right Write on topic kafka-secure-p1");
    let down = || {
        let solo = secured.solo();
        said(secured.tandem(&["down", "-f", solo.to_str().unwrap()]))
    };
    assert!(down().text.contains("nothing of kafka-secure is left"));
    secured.acl("--add", CONTROLLER, "Describe", &TOPIC);
    secured.acl("--remove", CONTROLLER, "Delete", &TOPIC);
    secured.without(MEMBER, "Write", &TOPIC, || run_once(&secured, "no-delete"));
    refused(&down(), "user tandem-controller lacks the right Delete on topic kafka-secure-p1");
    secured.acl("--add", CONTROLLER, "Delete", &TOPIC);
    secured.acl("--remove", CONTROLLER, "Describe", &TOPIC);
    let done = down();
    assert!(done.text.contains("removed topic kafka-secure-p1"), "{}", done.text);

    // Without these it works, but says less.
    let cluster = ["--cluster"];
    let done = secured.without(CONTROLLER, "DescribeConfigs", &cluster, doctor);
    assert_eq!(done.code, Some(0), "{}", done.text);
    assert!(done.text.contains("requires DescribeConfigs on the cluster"));
    let ledger = ["--topic", "__consumer_offsets"];
    let done = secured.without(CONTROLLER, "Describe", &ledger, doctor);
    // Where there is one broker, that one coordinates all groups.
    assert_eq!(done.code, Some(0), "{}", done.text);
}
