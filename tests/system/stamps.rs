//! A topic that exists, for members that trust the stamps of brokers: `doctor` and each run look at
//! whose stamps its messages have.

use support::alone::Alone;
use support::experiment::{output, tandem};

#[test]
fn a_topic_with_its_senders_stamps_is_refused_where_members_count_the_brokers_alone() {
    let broker = Alone::start();
    broker.create_with("senders", 4, &[("message.timestamp.type", "CreateTime")]);
    broker.create_with("brokers", 4, &[("message.timestamp.type", "LogAppendTime")]);

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("stamps.yaml");
    let run = |command: &[&str], mode: &str, topic: &str| {
        let text = format!(
            "version: 1\nname: stamps\nroles: [a, b, c, d]\n\
             clusters: {{c: {{bootstrap: \"{}\"}}}}\n\
             groups: {{p1: {{cluster: c, topic: {topic}, partitions: 4}}}}\n\
             defaults: {{mode: {mode}}}\n",
            broker.address
        );
        std::fs::write(&file, text).unwrap();
        let done = output(tandem(folder.path()).args(command).arg("-f").arg(&file));
        let said = [&done.stdout[..], &done.stderr[..]].concat();
        (done.status.code(), String::from_utf8_lossy(&said).into_owned())
    };
    let refusal = "no member would lead, for the messages of topic senders have their senders' \
                   stamps (CreateTime): set `message.timestamp.type=LogAppendTime` on it";
    let (code, said) = run(&["doctor"], "exclusive-paper", "senders");
    assert!(code == Some(1) && said.contains(&format!("fail  group p1: {refusal}")), "{said}");
    let (code, said) = run(&["up", "--for", "1s"], "exclusive-paper", "senders");
    assert!(code == Some(1) && said.contains(refusal), "{said}");

    let (code, said) = run(&["doctor"], "exclusive-paper", "brokers");
    let fine = "ok    group p1: the messages of topic brokers have the brokers' stamps";
    assert!(code == Some(0) && said.contains(fine), "{said}");
    // The other modes have no use for stamps.
    let (code, said) = run(&["doctor"], "exclusive", "senders");
    assert!(code == Some(0) && !said.contains("stamps of"), "{said}");
}
