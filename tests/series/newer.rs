//! The full counts on groups of Kafka's newer protocol (KIP-848): `tests/measure newer-exclusive`,
//! `newer-leave`, and the same on Apache Kafka. Each writes a row into `chaos/RESULTS.md`.

use std::time::Duration;

use support::exclusive::{self, never_two};
use support::experiment::Experiment;
use support::kafka::Kafka;
use support::series::{Series, shown};

/// The session that brokers have by default; the controller leaves for the dead.
const LEAVES: &str = "--set defaults.protocol=consumer --set defaults.session=45s \
     --set defaults.heartbeat=100ms --set defaults.on_death=leave \
     --set defaults.restart.after=1500ms";
const EXCLUSIVE: &str = "--set defaults.protocol=consumer --set defaults.mode=exclusive";
/// Trials of each kind.
const EACH: u32 = 10;
const KILLS: u32 = 60;
/// No more than 5 % of the gaps are longer.
const P95_MAX: Duration = Duration::from_millis(130);

/// Leaders are killed, and the group does not wait for their session.
fn left_for(name: &'static str, place: impl Fn(Experiment) -> Experiment) {
    let text = format!(
        "version: 1\nname: {name}\ntrials: {KILLS}\ndisturbed: {{stall: 50ms}}\nmethod:\n  \
         - {{id: k, at: 300ms, jitter: 300ms, fault: kill, target: {{leader_of: any}}}}\n\
         objective: {{group_gap: 30s, joint_gap: 30s}}\nassert:\n  \
         - group.gap.max <= bound.group.gap\n"
    );
    let mut series = Series::of(name, KILLS, || place(Experiment::of("kill.yaml", &text)));
    let gaps = series.group_gaps();
    let count = series.by_trial().len();
    // No kill without a gap: the p95 is that of as many gaps as trials, or of more.
    let within = gaps.iter().filter(|gap| gap.length <= P95_MAX).count();
    let holds = gaps.len() >= count && within * 100 >= gaps.len() * 95;
    let claim = format!("each kill has a gap, p95 at most {} ms", P95_MAX.as_millis());
    series.claims.add(claim, shown(&gaps), holds);
    series.conclude(&format!("group gaps {}", shown(&gaps)));
}

#[test]
#[ignore = "takes half an hour: tests/measure newer-exclusive"]
fn newer_exclusive() {
    let on = format!("-f topologies/solo.yaml {EXCLUSIVE}");
    never_two(exclusive::series("newer-exclusive", EACH, |experiment| experiment.with(&on)));
}

#[test]
#[ignore = "takes minutes: tests/measure newer-leave"]
fn newer_leave() {
    let on = format!("-f topologies/solo.yaml {LEAVES}");
    left_for("newer-leave", |experiment| experiment.with(&on));
}

/// On a cluster of one broker of Kafka 4.3.0.
fn on_kafka(set: &str, play: impl FnOnce(&dyn Fn(Experiment) -> Experiment)) {
    let kafka = Kafka::up(1, &["--version", "4.3.0"]);
    let args = format!("-f topologies/kafka-solo.yaml {set} {}", kafka.placed().join(" "));
    play(&|experiment| experiment.with(&args).in_state(&kafka.state()));
}

#[test]
#[ignore = "takes half an hour: tests/measure kafka-newer-exclusive"]
fn kafka_newer_exclusive() {
    on_kafka(EXCLUSIVE, |place| {
        never_two(exclusive::series("kafka-newer-exclusive", EACH, place));
    });
}

#[test]
#[ignore = "takes minutes: tests/measure kafka-newer-leave"]
fn kafka_newer_leave() {
    on_kafka(LEAVES, |place| left_for("kafka-newer-leave", place));
}
