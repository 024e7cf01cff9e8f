//! kcat, on the librdkafka of the system.

use std::process::{Command, Stdio};

use crate::clients::librdkafka::create;
use support::foreign::{Background, Broker, command, eventually, said};

/// No stall of the host ends its session.
fn kcat(broker: &Broker, arguments: &[&str]) -> Command {
    kcat_with(broker, "session.timeout.ms=60000", arguments)
}

fn kcat_with(broker: &Broker, session: &str, arguments: &[&str]) -> Command {
    let mut kcat = command("kcat");
    kcat.args(["-b", &broker.address, "-X", session, "-m", "60"]).args(arguments);
    kcat
}

both_ways!(
    kcat_lists_produces_and_consumes,
    kcat_goes_on_in_its_group_where_it_stopped,
    a_kcat_that_is_killed_is_missed_after_its_session,
);

fn kcat_lists_produces_and_consumes(broker: &Broker) {
    create(broker, "ledger", 3);
    let listed = said(&mut kcat(broker, &["-L"]), "");
    assert!(listed.contains("topic \"ledger\" with 3 partitions"), "{listed}");
    assert_eq!(said(&mut kcat(broker, &["-P", "-t", "ledger", "-p", "1"]), "a\nb\nc\n"), "");
    // All of it, with keys, offsets and stamps.
    let format = "%t %p %o %s\\n";
    let all = ["-C", "-t", "ledger", "-o", "beginning", "-e", "-q", "-f", format];
    let heard = said(&mut kcat(broker, &all), "");
    assert_eq!(heard, "ledger 1 0 a\nledger 1 1 b\nledger 1 2 c\n");
    let end = said(&mut kcat(broker, &["-Q", "-t", "ledger:1:-1"]), "");
    assert_eq!(end, "ledger [1] offset 3\n");
    let compressed = ["-P", "-t", "ledger", "-p", "2", "-z", "gzip"];
    said(&mut kcat(broker, &compressed), &"again and again\n".repeat(100));
    let end = said(&mut kcat(broker, &["-Q", "-t", "ledger:2:-1"]), "");
    assert_eq!(end, "ledger [2] offset 100\n");
}

fn kcat_goes_on_in_its_group_where_it_stopped(broker: &Broker) {
    create(broker, "ledger", 1);
    let group = |count: &str| {
        let mut kcat = kcat(broker, &["-X", "auto.offset.reset=earliest", "-c", count]);
        kcat.args(["-q", "-G", "readers", "ledger"]);
        said(&mut kcat, "")
    };
    said(&mut kcat(broker, &["-P", "-t", "ledger"]), "a\nb\nc\n");
    assert_eq!(group("2"), "a\nb\n");
    said(&mut kcat(broker, &["-P", "-t", "ledger"]), "d\n");
    assert_eq!(group("2"), "c\nd\n");
}

fn a_kcat_that_is_killed_is_missed_after_its_session(broker: &Broker) {
    create(broker, "ledger", 4);
    let log = tempfile::NamedTempFile::new().unwrap();
    let join = |err: Stdio| {
        let session = "session.timeout.ms=1000";
        let mut kcat = kcat_with(broker, session, &["-G", "readers", "ledger"]);
        Background(kcat.stdout(Stdio::null()).stderr(err).spawn().unwrap())
    };
    let _survivor = join(log.reopen().unwrap().into());
    // The last that the survivor said of its assignment.
    let holds = || {
        let log = std::fs::read_to_string(log.path()).unwrap();
        let last = log.lines().rfind(|line| line.contains("rebalanced"))?;
        let (_, what) = last.split_once("): ")?;
        Some(what.strip_prefix("assigned: ")?.split(',').count())
    };
    eventually("all of it", || (holds() == Some(4)).then_some(()));
    let victim = join(Stdio::null());
    eventually("half of it", || (holds() == Some(2)).then_some(()));
    drop(victim);
    eventually("all of it again", || (holds() == Some(4)).then_some(()));
}
