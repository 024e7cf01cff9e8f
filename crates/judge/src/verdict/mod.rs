//! From intervals to a judgement: one property per file, and the numbers of the report.
//!
//! The verdict combines the assertions and the objective, and has three values: fail beats unknown,
//! and unknown beats pass. A time that was not observed, a cut-off run and a fault that could not
//! be injected make it unknown. An overlap in a group whose election promises one leader fails the
//! run. Elsewhere overlaps are a cost, not a violation, and only assertions judge them.

mod assertion;
mod brief;
mod compute;
mod condition;
mod confidence;
mod confidence_report;
mod confidence_text;
mod continuity;
mod counted;
mod difference;
mod distribution;
mod disturbed;
mod disturbed_report;
mod disturbed_text;
mod exit;
mod grammar;
mod grid;
mod headline;
mod judge;
mod junit;
mod legend;
mod lines;
mod network;
mod promised;
mod reasons;
mod recovery;
mod redundancy;
mod report;
mod ruling;
mod stopping;
mod telemetry;
mod text;
mod unseen;
mod until;
mod upkeep;
mod upkeep_text;

pub use crate::statistics::float;
pub use crate::timeline::CauseKind;
pub use assertion::{Assertion, BoundOf, Comparison, Limit, Measure, Statistic, Subject};
pub use brief::{Brief, Limits};
pub use condition::Condition;
pub use confidence_report::{
    Confidence, CorrelationReport, LongestReport, ProbabilityReport, QuantileReport,
    QuantilesReport, StoppingOutcome, StoppingReport,
};
pub use counted::{Longest, joint_gaps_found};
pub use difference::{Counted, Difference, Differs, Row, Side, Tested};
pub use distribution::{Distribution, Samples, ms};
pub use disturbed::{ALPHA, Disturbed, undisturbed};
pub use disturbed_report::{DisturbedReport, DisturbedTrial};
pub use exit::Exit;
pub use grammar::AssertionError;
pub use junit::{JunitError, JunitRun, JunitSuite, junit};
pub use reasons::OutageReport;
pub use report::{
    BoundReport, BoundsReport, FaultReport, GroupReport, JointReport, LimitReport, Measures,
    Others, REPORT_VERSION, Report, Stall, Uncertainty, Worst,
};
pub use ruling::{Ruling, Unit, Verdict};
pub use telemetry::{MetricsSent, Telemetry};
pub use text::{render, render_telemetry, render_within, short};
pub use until::Until;
pub use upkeep::{Tail, Upkeep};
