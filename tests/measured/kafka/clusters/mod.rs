//! The experiments on Apache Kafka itself: clusters that `deploy/kafka/up` starts, members of ours,
//! and what is measured. Needs Java 17 and Maven, and fails without them.

mod alone;
mod apply;
mod consumer;
mod fences;
mod pair;
mod partly;
mod silence;

use support::measured::require;

/// Above session, rebalance and first message: the bound of an isolation's gap is nothing.
const LARGE_ENOUGH: &str = "defaults.threshold=1500ms";

/// An experiment in which these are the steps, and this is claimed of it; where it is.
fn experiment(
    kafka: &support::kafka::Kafka,
    name: &str,
    trials: u32,
    steps: &[String],
    claims: &str,
) -> String {
    let file = kafka.folder.path().join(format!("{name}.yaml"));
    let text = format!(
        "version: 1\nname: {name}\ntrials: {trials}\ndisturbed: {{stall: 50ms}}\n\
         steady_state: {{settled: 500ms}}\nmethod:\n  - {}\n{claims}",
        steps.join("\n  - ")
    );
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}
