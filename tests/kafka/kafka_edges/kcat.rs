//! kcat on three brokers.

use std::collections::BTreeSet;
use std::process::Command;

use support::edge::doors::Doors;
use support::edge::traffic;
use support::foreign::{command, eventually, said};

const TOPIC: &str = "kcats";

/// Lists, produces, consumes, commits and queries, and receives no broker's own address.
pub(crate) fn works(bootstrap: &str, doors: &Doors) {
    let kcat = |arguments: &[&str]| -> Command {
        let mut kcat = command("kcat");
        kcat.args(["-b", bootstrap, "-X", "client.id=kcat", "-m", "60"]).args(arguments);
        kcat
    };
    traffic::create(bootstrap, TOPIC);
    let listed = eventually("the topic", || {
        let listed = said(&mut kcat(&["-L"]), "");
        listed.contains("topic \"kcats\" with 6 partitions").then_some(listed)
    });
    let brokers = listed.lines().filter_map(|line| line.split_once(" at 127.0.0.1:"));
    let ports: BTreeSet<u16> =
        brokers.map(|(_, port)| port.split_whitespace().next().unwrap().parse().unwrap()).collect();
    assert_eq!(ports.len(), doors.ports().count(), "{listed}");
    assert!(doors.ports().all(|door| !ports.contains(&door)), "{listed}");

    for partition in 0..6 {
        let lines: String = (0..10).map(|number| format!("{partition}.{number}\n")).collect();
        said(&mut kcat(&["-P", "-t", TOPIC, "-p", &partition.to_string()]), &lines);
        let asked = format!("{TOPIC}:{partition}:-1");
        let end = said(&mut kcat(&["-Q", "-t", &asked]), "");
        assert_eq!(end, format!("{TOPIC} [{partition}] offset 10\n"));
    }
    let all = ["-C", "-t", TOPIC, "-o", "beginning", "-e", "-q"];
    let heard = said(&mut kcat(&all), "");
    let heard: BTreeSet<_> = heard.lines().collect();
    assert_eq!(heard.len(), 60, "{heard:?}");
    // It goes on in its group where it stopped: nothing twice, and nothing is left out.
    let half = ["-X", "auto.offset.reset=earliest", "-c", "30", "-q", "-G", "kcats", TOPIC];
    let halves = [(); 2].map(|()| said(&mut kcat(&half), ""));
    let together: BTreeSet<_> = halves.iter().flat_map(|half| half.lines()).collect();
    assert_eq!(together, heard);
}
