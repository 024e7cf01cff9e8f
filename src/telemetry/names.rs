//! Every name in exported traces and logs: spans, events, attributes. Span names are few;
//! attributes distinguish spans of the same name.

pub use opentelemetry_semantic_conventions::resource::{
    SERVICE_INSTANCE_ID, SERVICE_NAME, SERVICE_VERSION,
};

/// The instrumentation scope of everything computed from facts.
pub const SCOPE: &str = "tandem";
/// The default `service.name`, without `OTEL_SERVICE_NAME`.
pub const SERVICE: &str = "tandem";

// ---- spans -------------------------------------------------------------------------------------

/// A run, from its zero to its end; in a trace of its own, with the live operations.
pub const RUN: &str = "chaos.run";
/// A trial; the root of its trace.
pub const TRIAL: &str = "chaos.trial";
/// A window of a topology that is kept up; the root of its trace.
pub const WINDOW: &str = "up.window";
/// From the request of a fault until it is known to be gone.
pub const FAULT: &str = "fault.window";
/// One member's claim of one role: a term.
pub const LEADERSHIP: &str = "leadership";
/// No member served a role.
pub const GAP: &str = "leadership.gap";
/// Two or more members claimed a role.
pub const OVERLAP: &str = "leadership.overlap";

// ---- spans of live operations ------------------------------------------------------------------

/// The target of such spans.
pub const LIVE: &str = "tandem::live";
/// Embedded brokers are started.
pub const START_CLUSTERS: &str = "clusters.start";
/// Topics are provisioned.
pub const PROVISION: &str = "topics.provision";
/// A member's process is started.
pub const START_MEMBER: &str = "member.start";
/// A fault is injected.
pub const INJECT: &str = "fault.inject";
/// A fault is undone.
pub const HEAL: &str = "fault.heal";

// ---- events of spans and of logs ---------------------------------------------------------------

/// A fault is about to be injected.
pub const FAULT_ASKED: &str = "fault.asked";
/// A fault is known to be in force.
pub const FAULT_IN_FORCE: &str = "fault.in_force";
/// A fault is known to be gone.
pub const FAULT_HEALED: &str = "fault.healed";
/// A broker answered a member that had been cut off.
pub const FAULT_RECONNECTED: &str = "fault.reconnected";
/// A fault could not be injected, or not be healed.
pub const FAULT_FAILED: &str = "fault.failed";
/// A fault across several victims has hit the last of them.
pub const FAULT_STRUCK: &str = "fault.struck";
/// A member's process was started.
pub const MEMBER_STARTED: &str = "member.started";
/// A member's process is gone.
pub const MEMBER_DIED: &str = "member.died";
/// A member's process is stopped.
pub const MEMBER_STOPPED: &str = "member.stopped";
/// A member's process continues.
pub const MEMBER_CONTINUED: &str = "member.continued";
/// The witness of a member has refused orders of experiments.
pub const MEMBER_REFUSED_ORDERS: &str = "member.refused_orders";
/// What a member did for a while is unknown.
pub const MEMBER_HOLE: &str = "member.hole";
/// A member cannot reach its brokers.
pub const MEMBER_UNCONNECTED: &str = "member.unconnected";
/// A member reaches its brokers again.
pub const MEMBER_CONNECTED: &str = "member.connected";
/// A member does not work with the versions of its group.
pub const MEMBER_REFUSED: &str = "member.refused";
/// A broker that outlives the run is lost.
pub const BROKER_LOST: &str = "broker.lost";
/// The broker is back.
pub const BROKER_BACK: &str = "broker.back";
/// A group has settled.
pub const GROUP_SETTLED: &str = "group.settled";
/// A cluster's embedded broker answers.
pub const CLUSTER_STARTED: &str = "cluster.started";
/// A cluster's embedded broker is gone.
pub const CLUSTER_DIED: &str = "cluster.died";
/// The edge process, through which members reach brokers, answers.
pub const EDGES_STARTED: &str = "edges.started";
/// The edge process is gone.
pub const EDGES_DIED: &str = "edges.died";
/// A trial begins.
pub const TRIAL_BEGAN: &str = "trial.began";
/// A trial ends.
pub const TRIAL_ENDED: &str = "trial.ended";
/// The host did not schedule the controller.
pub const HOST_STALL: &str = "host.stall";
/// The host was suspended.
pub const HOST_SUSPENDED: &str = "host.suspended";
/// The disk did not accept facts.
pub const JOURNAL_UNWRITTEN: &str = "journal.unwritten";
/// The controller stalled, and its guard ended the run.
pub const UNATTENDED: &str = "unattended";
/// The run ended by itself.
pub const RUN_ENDED: &str = "run.ended";

// ---- attributes --------------------------------------------------------------------------------

/// Of the resource: the run's name.
pub const RUN_ID: &str = "tandem.run";
/// Of the resource: the topology's name.
pub const TOPOLOGY: &str = "tandem.topology";
/// Of the resource: the experiment's name.
pub const EXPERIMENT: &str = "tandem.experiment";
/// The seed of every choice.
pub const SEED: &str = "tandem.seed";
/// The trial's number, from 1.
pub const TRIAL_NUMBER: &str = "neli.trial";
/// The window's number, from 1.
pub const WINDOW_NUMBER: &str = "neli.window";
/// The window ended early, because more happened than is kept at once.
pub const CUT_SHORT: &str = "neli.window.cut_short";
/// How many facts of this window were missed, because they came too fast; their time is unknown.
pub const MISSED: &str = "neli.window.missed_facts";
/// Whether everything settled again before the trial ended.
pub const RECOVERED: &str = "neli.recovered";
/// How the run ended.
pub const OUTCOME: &str = "neli.outcome";
/// How many gaps within groups a trial, or a window, had, counted by role and interval.
pub const GAPS: &str = "neli.gaps";
/// How many joint gaps.
pub const JOINT_GAPS: &str = "neli.joint_gaps";
/// How many overlaps within groups.
pub const OVERLAPS: &str = "neli.overlaps";
/// The role's name.
pub const ROLE: &str = "neli.role";
/// How many roles a span covers, the named one first: with more than 10,000 roles, those that share
/// their partitions share a span.
pub const ROLE_COUNT: &str = "neli.role.count";
/// The group's name; absent for all groups together.
pub const GROUP: &str = "neli.group";
/// `group`, or `joint` for all groups together.
pub const SCOPED: &str = "neli.scope";
/// The member's name.
pub const MEMBER: &str = "neli.member";
/// Which life of the member, from 1.
pub const INCARNATION: &str = "neli.incarnation";
/// Which of that life's claims on the partition, from 1.
pub const TERM: &str = "neli.term";
/// The partition that bears the role.
pub const PARTITION: &str = "neli.partition";
/// It began before its trial, or window: the span is cut.
pub const BEGAN_BEFORE: &str = "neli.began_before";
/// It outlasted its trial, or window: the span is cut.
pub const GOES_ON: &str = "neli.goes_on";
/// How much of a span could not be observed, in nanoseconds.
pub const UNKNOWN_NS: &str = "neli.unknown_ns";
/// Whether there was a gap, or an overlap, in this interval is unknown.
pub const UNKNOWN: &str = "neli.unknown";
/// The uncertainty of the length, in nanoseconds, as a sum over both ends.
pub const UNCERTAINTY_NS: &str = "neli.uncertainty_ns";
/// It was still open when its trial ended: it is at least as long as this.
pub const CENSORED: &str = "neli.censored";
/// `fault`, `restart`, `broker`, `death`, `stop`, `connection`, `leave`, `start` or `none`.
pub const CAUSE: &str = "neli.cause";
/// The fault, the life, or the broker's cluster.
pub const CAUSE_BY: &str = "neli.cause.by";
/// The fault's id, `<trial>.<step>`.
pub const FAULT_ID: &str = "neli.fault.id";
/// The fault's word in experiment files.
pub const FAULT_KIND: &str = "neli.fault.kind";
/// The fault's victims.
pub const FAULT_TARGETS: &str = "neli.fault.targets";
/// From the first victim to the last, in nanoseconds.
pub const FAULT_SKEW_NS: &str = "neli.fault.skew_ns";
/// Whether the fault is known to be gone.
pub const HEALED: &str = "neli.fault.healed";
/// Of a link: `caused_by`, `continues`, `follows` or `part_of`.
pub const LINK: &str = "neli.link";
/// The duration, in nanoseconds.
pub const DURATION_NS: &str = "neli.duration_ns";
/// What went wrong.
pub const WHY: &str = "neli.why";
/// The cluster's name.
pub const CLUSTER: &str = "neli.cluster";
/// The broker's address.
pub const BROKER: &str = "neli.broker";
/// The process id.
pub const PID: &str = "process.pid";
/// The signal that ended a process.
pub const SIGNAL: &str = "neli.signal";
/// The status a process ended with.
pub const STATUS: &str = "neli.status";
/// The sequence number of a fact among its author's.
pub const SEQ: &str = "neli.seq";
