//! Kafka's own tool beside what the members claim.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use tandem::observation::{Fact, MemberEvent, RunEvent, What};
use tandem::time::Mono;

use super::{Kafka, eventually};

/// In how many of these settled states Kafka's own tool agrees with the members' claims; between
/// two of them a member dies and comes back.
pub fn equal(kafka: &Kafka, times: u32) -> u32 {
    // Long enough for every rebalance; it is interrupted when all were seen.
    let calm = kafka.folder.path().join("calm.yaml");
    let text = std::fs::read_to_string("chaos/calm.yaml").unwrap().replace("60s", "30m");
    assert!(text.contains("for: 30m"), "calm lasts a minute as it is shipped");
    std::fs::write(&calm, text).unwrap();
    let solo = [calm.to_str().unwrap(), "-f", "topologies/kafka-solo.yaml"];
    // The dead are back sooner than by default, and all is settled sooner.
    let soon = ["--set", "defaults.threshold=1500ms", "--set", "defaults.restart.after=1500ms"];
    let run = kafka.start(&[&solo[..], &soon].concat());
    let (mut since, mut equal) = (Mono::ZERO, 0);
    for time in 1..=times {
        let so_far = eventually("the group settles", Duration::from_secs(60), || {
            let facts = facts(&run.out);
            facts.iter().any(|fact| settled(fact) && fact.t > since).then_some(facts)
        });
        match agree(kafka, "kafka-solo-p1", &so_far) {
            Ok(()) => equal += 1,
            Err(why) => eprintln!("time {time}: {why}"),
        }
        // A rebalance: the member that leads most is killed, and comes back. A group may settle
        // before that, where a host that stalls delays the new process.
        let pid = rustix::process::Pid::from_raw(leader(&so_far)).unwrap();
        let killed = Mono::now();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        since = eventually("the next life of who was killed", Duration::from_secs(60), || {
            let facts = facts(&run.out);
            let begins = facts.iter().find(|fact| started(fact) && fact.t > killed);
            begins.map(|fact| fact.t)
        });
    }
    run.interrupt();
    equal
}

/// Whether Kafka's own tool gives the members of this group, on the first cluster, what they claim
/// by these facts.
///
/// # Errors
/// What both say.
pub fn agree(kafka: &Kafka, group: &str, facts: &[Fact]) -> Result<(), String> {
    let (table, claimed) = (kafka.described(0, group), claims(facts));
    let equal = assignment(&table, group) == claimed;
    if equal { Ok(()) } else { Err(format!("members claim {claimed:?}, and {table}")) }
}

/// What is written in the journal by now; its last line may be half written.
fn facts(out: &Path) -> Vec<Fact> {
    let journal = std::fs::read_to_string(out.join("journal.jsonl")).unwrap_or_default();
    journal.lines().skip(1).filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn settled(fact: &Fact) -> bool {
    matches!(fact.what, What::Run(RunEvent::Settled { .. }))
}

fn started(fact: &Fact) -> bool {
    matches!(fact.what, What::Run(RunEvent::Started { .. }))
}

/// Partitions by life.
type Held = BTreeMap<String, BTreeSet<u32>>;

/// What each living member claims at the end of these facts.
fn claims(facts: &[Fact]) -> Held {
    let mut held = Held::new();
    for fact in facts {
        let Some(life) = &fact.life else { continue };
        let claims = held.entry(life.to_string()).or_default();
        match &fact.what {
            What::Member(MemberEvent::Claimed { partition, .. }) => {
                claims.insert(partition.0);
            }
            What::Member(MemberEvent::Lapsed { partition, .. }) => {
                claims.remove(&partition.0);
            }
            What::Run(RunEvent::Died { .. }) => drop(held.remove(&life.to_string())),
            _ => {}
        }
    }
    held
}

/// The process of the life that claims most.
fn leader(facts: &[Fact]) -> i32 {
    let held = claims(facts);
    let (victim, _) = held.iter().max_by_key(|(_, claims)| claims.len()).unwrap();
    let pid = facts.iter().find_map(|fact| match &fact.what {
        What::Run(RunEvent::Started { pid, .. })
            if fact.life.as_ref().unwrap().to_string() == *victim =>
        {
            Some(*pid)
        }
        _ => None,
    });
    i32::try_from(pid.unwrap()).unwrap()
}

/// The table of `--describe --members --verbose`: the fourth column is the client id, and the first
/// column of assignments holds `topic:0,1`, before Kafka 4 `(0,1)`, or `-` for none.
fn assignment(table: &str, group: &str) -> Held {
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let rows = rows.filter(|row| row.first() == Some(&group));
    rows.map(|row| {
        let held = row[4..].iter().find(|cell| cell.contains([':', '(']));
        let numbers = held.and_then(|cell| cell.rsplit([':', '(']).next()).unwrap_or_default();
        let numbers = numbers.trim_end_matches(')').split(',');
        (row[3].to_owned(), numbers.filter_map(|number| number.parse().ok()).collect())
    })
    .collect()
}
