//! Folders of runs that no run has left: the journal as a test writes it.

use std::path::Path;

use tandem::built::Built;
use tandem::journal::{Header, Journal, VERSION};
use tandem::observation::{Fact, RunEvent};
use tandem::time::{Mono, Wall};
use tandem::topology::Plan;
use tandem::verdict::Brief;

use super::facts::{Story, brief, fault};

/// When what is written began, on the clock of the wall.
pub const ZERO_WALL: Wall = Wall(1_795_000_000_000);

/// What a journal of this run begins with.
pub fn header(run: &str, plan: &Plan, brief: &Brief) -> Header {
    Header {
        journal: VERSION,
        tandem: "0.1.0".to_owned(),
        built: Some(Built { commit: "0123456789abcdef".repeat(2) + "01234567", dirty: false }),
        run: run.to_owned(),
        zero: Mono::ZERO,
        zero_wall: ZERO_WALL,
        seed: 42,
        topology: "name: pricing\n".to_owned(),
        experiment: format!("name: {}\n", brief.experiment),
        overrides: Vec::new(),
        plan: plan.clone(),
        brief: brief.clone(),
        part: None,
    }
}

/// What the journal of what is kept up begins with.
pub fn up(plan: &Plan) -> Header {
    Header { experiment: String::new(), ..header("up-1", plan, &brief(plan, 1, &[])) }
}

/// Writes the journal of a run into `folder`.
pub fn record(folder: &Path, plan: &Plan, brief: &Brief, facts: &[Fact]) {
    std::fs::create_dir_all(folder).unwrap();
    let run = folder.file_name().unwrap().to_string_lossy();
    let header = header(&run, plan, brief);
    let mut journal = Journal::create(&folder.join("journal.jsonl"), &header).unwrap();
    for fact in facts {
        journal.append(fact).unwrap();
    }
}

/// One trial a gap, of 10 s each, on two groups of one role: the leader of `p1` is killed, and its
/// successor serves so many milliseconds later, or where they are none has served a little before;
/// `p2` serves all the time.
pub fn kills(gaps_ms: &[u64]) -> Story {
    let mut story = Story::default();
    for who in ["p1-2.1", "p2-1.1"] {
        story.started(who, 10);
    }
    for (number, gap) in (1_u32..).zip(gaps_ms) {
        let base = u64::from(number) * 10_000;
        let (victim, id) = (format!("p1-1.{number}"), format!("{number}.k"));
        story.started(&victim, base + 10).serves(&victim, 0, 1, [base + 100, base + 1_990]);
        story.serves("p2-1.1", 0, number, [base + 100, base + 9_900]);
        story.lapsed("p2-1.1", base + 9_900, (0, number), base + 9_900);
        story.began(base + 500, number);
        story.asked(&victim, base + 2_000, &id, "kill").died(&victim, base + 2_003);
        story.of(&victim, base + 2_003, RunEvent::FaultInForce { fault: fault(&id) });
        let served = if *gap == 0 { base + 1_950 } else { base + 2_000 + gap };
        story.serves("p1-2.1", 0, number, [served, base + 9_900]);
        story.lapsed("p1-2.1", base + 9_900, (0, number), base + 9_900);
        story.settled("p1", base + 8_000).ended(base + 9_000, number);
    }
    story.completed(10_000 * (u64::try_from(gaps_ms.len()).unwrap() + 1));
    story
}
