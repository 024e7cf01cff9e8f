//! With the documented rights everything works, and with each one missing there is a message that
//! says who lacks which right on what.

use std::time::Duration;

use super::support::{Said, Secured, said};

const SOON: Duration = Duration::from_secs(60);
const MEMBER: &str = "tandem-member";
const CONTROLLER: &str = "tandem-controller";
const TOPIC: [&str; 4] = ["--resource-pattern-type", "prefixed", "--topic", "kafka-secure-"];
const GROUP: [&str; 4] = ["--resource-pattern-type", "prefixed", "--group", "kafka-secure-"];

impl Secured {
    /// What `look` says while a right is missing.
    fn without(&self, user: &str, right: &str, of: &[&str], look: impl Fn() -> Said) -> Said {
        self.acl("--remove", user, right, of);
        let told = look();
        self.acl("--add", user, right, of);
        told
    }

    fn run_once(&self, out: &str) -> Said {
        let (solo, out) = (self.solo(), self.kafka.folder.path().join(out));
        let solo = solo.to_str().unwrap();
        let mut run = self.tandem(&["chaos", "run", "chaos/kill-leader.yaml", "-f", solo]);
        run.args(["--trials", "1", "--out"]).arg(&out);
        let told = said(run, SOON);
        assert!(!out.join("logs/p1-1.log").exists(), "a member was started: {}", told.text);
        told
    }
}

fn refused(told: &Said, message: &str) {
    assert_eq!(told.code, Some(1), "{}", told.text);
    assert!(told.text.contains(message), "{message:?} is not in {}", told.text);
}

#[test]
fn each_missing_right_is_named_with_who_lacks_it_and_where() {
    let secured = Secured::shared(1);
    let doctor = || said(secured.doctor(&[]), SOON);
    let told = doctor();
    assert_eq!(told.code, Some(0), "{}", told.text);
    assert!(!told.text.contains("warn"), "{}", told.text);

    let told = secured.without(MEMBER, "Read", &GROUP, doctor);
    refused(&told, "user tandem-member lacks the right Read on consumer group kafka-secure-p1");
    let told = secured.without(MEMBER, "Read", &TOPIC, doctor);
    refused(&told, "user tandem-member lacks the right Read on topic kafka-secure-p1");
    let told = secured.without(CONTROLLER, "Create", &TOPIC, doctor);
    refused(&told, "user tandem-controller lacks the right Create on topic kafka-secure-p1");
    let told = secured.without(CONTROLLER, "Describe", &GROUP, doctor);
    let group = "user tandem-controller lacks the right Describe on consumer group kafka-secure-p1";
    refused(&told, group);
    // Delete carries Describe.
    let told = secured.without(CONTROLLER, "Delete", &TOPIC, doctor);
    refused(&told, "user tandem-controller lacks the right Describe on topic kafka-secure-p1");

    // What can only be seen once the topic is there: nobody was started, and it is gone again.
    let told = secured.without(MEMBER, "Write", &TOPIC, || secured.run_once("no-write"));
    refused(&told, "user tandem-member lacks the right Write on topic kafka-secure-p1");
    let down = || {
        let solo = secured.solo();
        said(secured.tandem(&["down", "-f", solo.to_str().unwrap()]), SOON)
    };
    assert!(down().text.contains("nothing of kafka-secure is left"));
    secured.acl("--add", CONTROLLER, "Describe", &TOPIC);
    secured.acl("--remove", CONTROLLER, "Delete", &TOPIC);
    secured.without(MEMBER, "Write", &TOPIC, || secured.run_once("no-delete"));
    refused(&down(), "user tandem-controller lacks the right Delete on topic kafka-secure-p1");
    secured.acl("--add", CONTROLLER, "Delete", &TOPIC);
    secured.acl("--remove", CONTROLLER, "Describe", &TOPIC);
    let told = down();
    assert!(told.text.contains("removed topic kafka-secure-p1"), "{}", told.text);

    // Without these it works, but says less.
    let cluster = ["--cluster"];
    let told = secured.without(CONTROLLER, "DescribeConfigs", &cluster, doctor);
    assert_eq!(told.code, Some(0), "{}", told.text);
    assert!(told.text.contains("this takes the right DescribeConfigs on the cluster"));
    let ledger = ["--topic", "__consumer_offsets"];
    let told = secured.without(CONTROLLER, "Describe", &ledger, doctor);
    // Where there is one broker, that one coordinates all groups.
    assert_eq!(told.code, Some(0), "{}", told.text);
}
