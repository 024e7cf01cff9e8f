//! Everything needed to start a member's process.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tandem_member::Config;
use tokio::process::ChildStdout;

use super::departure::Departures;
use super::log_file::LogFile;
use super::{Clusters, Process, ProcessError, Recorder};
use crate::guard::{Guard, work_mark};
use crate::ids::{GroupName, Incarnation, Life, MemberId};
use crate::member::{OtherConfig, arguments, config_of, duty_argument};
use crate::topology::{Plan, PlannedGroup};

/// Where the processes of a fleet write.
#[derive(Debug, Clone, Copy)]
pub struct Folders<'a> {
    /// Their logs.
    pub logs: &'a Path,
    /// The sockets and the votes of groups that elect among their members, one folder a group. It
    /// ends with the fleet.
    pub elections: &'a Path,
}

/// What all members of a fleet are started with.
pub(super) struct Ground {
    pub(super) program: PathBuf,
    pub(super) logs: PathBuf,
    pub(super) elections: PathBuf,
    pub(super) guard: Arc<Guard>,
    pub(super) record: Arc<Recorder>,
}

/// Everything needed to start a member's process.
#[derive(Clone)]
pub(super) struct Recipe {
    config: Config,
    /// In its place, where the group does not elect on Kafka.
    other: Option<OtherConfig>,
    /// The argument for the programs of its roles, if it has any.
    duty: Option<String>,
    program: PathBuf,
    departures: Departures,
    log: Arc<LogFile>,
    guard: Arc<Guard>,
    pub(super) record: Arc<Recorder>,
}

impl Recipe {
    /// How `member` of this group is started.
    pub(super) fn of(
        member: &MemberId,
        (plan, clusters): (&Plan, &Clusters),
        (name, group): (&GroupName, &PlannedGroup),
        ground: &Ground,
    ) -> Self {
        let cluster = clusters.of_member(member, &group.cluster);
        let life = Life { member: member.clone(), incarnation: Incarnation(1) };
        let config = config_of(life, plan, (name, group), &cluster);
        Self {
            departures: Departures::of(group, &config, clusters),
            other: OtherConfig::of(&config.life, plan, name, &ground.elections),
            config,
            duty: duty_argument(plan, name, group),
            program: ground.program.clone(),
            log: Arc::new(LogFile::at(ground.logs.join(format!("{member}.log")))),
            guard: Arc::clone(&ground.guard),
            record: Arc::clone(&ground.record),
        }
    }

    /// The process `pid` of a life has ended, and with it its programs: only then the group may
    /// give its roles to others.
    pub(super) fn ended(&self, life: &Life, pid: u32, member_id: Option<String>) {
        let work = self.duty.as_ref().map(|_| work_mark(self.guard.mark(), pid));
        self.departures.leave_for(life, member_id, work);
    }

    /// Starts a process for this life. Returns also what it writes.
    pub(super) fn start(&self, life: Life) -> Result<(Process, ChildStdout), ProcessError> {
        Process::start(&self.program, &self.arguments(life), &self.log, &self.guard)
    }

    fn arguments(&self, life: Life) -> Vec<String> {
        let mut arguments = match &self.other {
            Some(other) => other.clone().arguments(life),
            None => arguments(&Config { life, ..self.config.clone() }),
        };
        arguments.extend(self.duty.iter().flat_map(|duty| ["--duty".to_owned(), duty.clone()]));
        arguments
    }

    /// Whether a process that was started by this recipe does what one by `other` would do.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let life = &self.config.life;
        self.arguments(life.clone()) == other.arguments(life.clone())
    }
}
