//! A run that a test made up, and its page.

use serde_json::Value;
use tandem::html_report::{Room, Subject, page_within};
use tandem::ids::TrialNumber;
use tandem::observation::Fact;
use tandem::time::{Mono, Wall};
use tandem::timeline::{Finding, Timeline};
use tandem::topology::Plan;
use tandem::verdict::{Brief, Report};

use support::facts::at;

/// What a journal would hold, judged.
pub struct Fixture {
    pub plan: Plan,
    pub timeline: Timeline,
    pub report: Report,
    pub zero: Mono,
    pub run: String,
}

impl Fixture {
    pub fn new(plan: Plan, brief: &Brief, facts: &[Fact]) -> Self {
        let zero = at(10);
        let timeline = Timeline::compute(&plan, facts);
        let report = Report::of(&plan, brief, 42, zero, &timeline);
        Self { plan, timeline, report, zero, run: "kill-leader-20261121T120000.000Z".to_owned() }
    }

    pub fn page(&self) -> String {
        self.page_within(Room::default())
    }

    pub fn page_within(&self, room: Room) -> String {
        let subject = Subject {
            report: &self.report,
            timeline: &self.timeline,
            plan: &self.plan,
            run: &self.run,
            zero: self.zero,
            began: Wall(1_795_000_000_000),
            tandem: "0.1.0",
        };
        page_within(&subject, room)
    }
}

/// The data that a page embeds.
pub fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// From, length, uncertainty, trial, whether still open: what a page says of a finding.
pub type Row = (u64, u64, u64, u64, u64);

/// What the data says of findings; six numbers each, the fifth is the cause.
pub fn rows(numbers: &Value) -> Vec<Row> {
    let all: Vec<u64> = numbers.as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect();
    let mut rows: Vec<_> = all.chunks(6).map(|n| (n[0], n[1], n[2], n[3], n[5])).collect();
    rows.sort_unstable();
    rows
}

/// What the timeline says of one.
pub fn row(of: &Finding, zero: Mono) -> Row {
    let ns = |span: std::time::Duration| u64::try_from(span.as_nanos()).unwrap();
    let TrialNumber(trial) = of.trial;
    let (from, length) = (ns(of.span.from.since(zero)), ns(of.span.length()));
    (from, length, ns(of.uncertainty), trial.into(), of.censored.into())
}
