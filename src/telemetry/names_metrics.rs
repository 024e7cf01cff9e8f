//! Every instrument in one list: its name, its unit, its description.

/// An instrument's description.
#[derive(Debug, Clone, Copy)]
pub struct Described {
    /// Its name; Prometheus writes `_` for `.` and adds the unit, and `_total` to counters.
    pub name: &'static str,
    /// Its unit, in UCUM.
    pub unit: &'static str,
    /// The description.
    pub says: &'static str,
}

const fn described(name: &'static str, unit: &'static str, says: &'static str) -> Described {
    Described { name, unit, says }
}

/// A gauge by role and group.
pub const LEADERS: Described =
    described("neli.role.leaders", "{leader}", "How many members of the group lead the role now.");
/// A counter by role and group.
pub const UNAVAILABLE: Described = described(
    "neli.role.unavailable.time",
    "s",
    "How long no member served the role in the group, since it was first led there.",
);
/// A counter by role and group.
pub const OVERLAP: Described = described(
    "neli.role.overlap.time",
    "s",
    "How long two or more members of the group claimed the role.",
);
/// A counter by role and group.
pub const UNKNOWN: Described = described(
    "neli.role.unknown.time",
    "s",
    "How long it is unknown whether the role was served in the group.",
);
/// A counter by role and group.
pub const TRANSITIONS: Described = described(
    "neli.role.transitions",
    "{transition}",
    "How often service of the role passed from one member's life to another in the group.",
);
/// A histogram by group.
pub const GAP: Described =
    described("neli.role.gap.duration", "s", "Gaps: intervals in which no member served a role.");
/// A histogram by group.
pub const OVERLAP_LENGTH: Described = described(
    "neli.role.overlap.duration",
    "s",
    "Overlaps: intervals in which two or more members claimed a role.",
);
/// A histogram by group.
pub const TAKEOVER: Described = described(
    "neli.role.takeover.duration",
    "s",
    "From the instant a leader stopped serving to the instant its successor served.",
);
/// A gauge by role.
pub const JOINT_LEADERS: Described =
    described("neli.joint.leaders", "{leader}", "In how many groups the role is led now.");
/// A counter by role.
pub const JOINT_UNAVAILABLE: Described = described(
    "neli.joint.unavailable.time",
    "s",
    "How long no member served the role in any group, since it was first led in one.",
);
/// A gauge by kind.
pub const FAULTS: Described =
    described("neli.fault.active", "{fault}", "How many faults are in force, or about to be.");
/// A counter.
pub const LOST: Described = described(
    "neli.telemetry.lost",
    "{fact}",
    "Facts that these metrics missed because they were too slow.",
);
/// A counter.
pub const LATE: Described = described(
    "neli.telemetry.late",
    "{fact}",
    "Facts that came after their time was already counted.",
);
/// A gauge.
pub const LAG: Described =
    described("neli.telemetry.lag", "s", "How far the counters are behind the present.");

/// The role name of all roles without a series of their own.
pub const OTHER: &str = "other";
