//! The work of one role: a command, its course, and the keeper that runs it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::time::Duration;

use super::HoldError;
use super::cgroup::Cgroup;
use super::course::{Course, OnExit, Sequel, Step};
use super::deadlines::Stopping;
use super::family::kill_all;
use super::keeping::{Heard, Keeping, Output};
use super::protocol::{CommandEnd, Order};
use crate::guard::{WORK_MARK, is_childless};
use crate::host::DEATH;
use crate::ids::{GroupName, Life, RoleName, TopologyName};
use crate::time::{Mono, Span};
use tandem_member::{Lead, Member};

/// How long the last order may wait for room.
const LAST: Duration = Duration::from_secs(1);

/// How a command is run.
#[derive(Debug)]
pub(super) struct Recipe {
    /// The program and its arguments.
    pub(super) command: Vec<OsString>,
    /// How it is stopped.
    pub(super) stopping: Stopping,
    /// What happens when it ends by itself.
    pub(super) on_exit: OnExit,
    /// What marks its processes.
    pub(super) mark: String,
    /// Whether the end of a claim is a promise that the command must not outlive.
    pub(super) promised: bool,
    /// Where its processes are, if it has a cgroup of its own.
    pub(super) cgroup: Option<Cgroup>,
    /// Variables of its environment, beside the fence.
    pub(super) environment: BTreeMap<String, String>,
}

/// The command of one role.
pub(super) struct Work {
    recipe: Recipe,
    lead: Lead,
    course: Course,
    keeping: Option<Keeping>,
    /// Whether the keeper has said that the command runs, since it was asked to start it.
    started: bool,
}

impl Work {
    pub(super) fn new(recipe: Recipe, lead: Lead) -> Self {
        let course = Course::new(recipe.promised, recipe.stopping, recipe.on_exit);
        Self { recipe, lead, course, keeping: None, started: false }
    }

    /// Whether the command runs, or may.
    pub(super) const fn runs(&self) -> bool {
        self.course.runs()
    }

    /// Whether the member leads the role, or the command may run.
    pub(super) fn is_due(&self) -> bool {
        self.runs() || self.lead.claim().is_some()
    }

    pub(super) const fn has_keeper(&self) -> bool {
        self.keeping.is_some()
    }

    /// Starts the keeper, which starts nothing yet.
    ///
    /// # Errors
    /// The system refuses it.
    pub(super) fn start_keeper(&mut self, output: Output) -> Result<(), HoldError> {
        let Recipe { command, stopping, mark, cgroup, .. } = &self.recipe;
        if let Some(cgroup) = cgroup {
            // The keeper before has removed it.
            let what = "the cgroup of the command cannot be made";
            cgroup
                .make()
                .map_err(|why| HoldError::System { what, source: io::Error::other(why) })?;
        }
        let mark = (WORK_MARK, mark.as_str());
        let started = Keeping::start(command, *stopping, mark, cgroup.as_ref(), output);
        let what = "the keeper cannot start";
        self.keeping = Some(started.map_err(|source| HoldError::System { what, source })?);
        Ok(())
    }

    /// The next report of the keeper, within the time.
    pub(super) fn heard(&mut self, within: Duration) -> Heard {
        self.keeping.as_mut().map_or(Heard::Nothing, |keeping| keeping.heard(within))
    }

    /// Does what is due now. Returns the end of the claim if it is about to come, and the command
    /// is not known to be gone.
    pub(super) fn step(&mut self, wanted: bool) -> Option<Mono> {
        let claim = self.lead.claim();
        let (now, until) = (Mono::now(), claim.map(|claim| claim.until));
        match self.course.step(now, until, wanted) {
            Step::Rest => {}
            Step::Start(until) => {
                let mut environment = self.recipe.environment.clone();
                let fence = claim.and_then(|claim| claim.fence);
                tracing::trace!(?now, ?until, ?fence, "Promised.");
                environment
                    .extend(fence.map(|fence| ("TANDEM_FENCE".to_owned(), fence.to_string())));
                let promised = self.recipe.promised;
                self.started = false;
                self.order(&Order::Start { at: now, until, promised, environment });
            }
            Step::Renew(until) => {
                let fence = claim.and_then(|claim| claim.fence);
                tracing::trace!(?now, ?until, ?fence, "Promised.");
                self.order(&Order::Renew { at: now, until });
            }
            Step::Stop(by) => self.order(&Order::Stop { by }),
            Step::Overrun(until) => {
                tracing::debug!(?now, ?until, "The claim is about to end, and the command runs.");
                // The keeper may have ended the command, and not said so yet: then it has no child
                // left. One that has not started it yet may be about to.
                let is_gone = |keeping: &Keeping| is_childless(keeping.pid());
                let is_gone = self.started
                    && self.keeping.as_ref().is_some_and(is_gone)
                    && self.recipe.cgroup.as_ref().is_none_or(Cgroup::is_empty);
                return (!is_gone).then_some(until);
            }
        }
        None
    }

    pub(super) fn order(&mut self, order: &Order) {
        if let Some(keeping) = &mut self.keeping {
            keeping.order(order);
        }
    }

    /// An order that must not be lost, though the keeper is stopped for a moment.
    pub(super) fn last_order(&mut self, order: &Order) {
        self.order(order);
        if let Some(keeping) = &mut self.keeping {
            keeping.deliver(LAST);
        }
    }

    /// The keeper has started the command.
    pub(super) const fn started(&mut self) {
        self.started = true;
    }

    /// The command has ended, and nothing of it is left.
    pub(super) fn ended(&mut self, now: Mono, end: CommandEnd) -> Sequel {
        self.course.ended(now, end)
    }

    /// The keeper has not started the command. Returns how long after `now` it is asked again.
    pub(super) fn declined(&mut self, now: Mono) -> Duration {
        self.course.lost(now).since(now)
    }

    /// When the claim ends, as far as it is known.
    pub(super) fn until(&self) -> Mono {
        self.lead.claim().map_or(Mono::ZERO, |claim| claim.until)
    }

    /// The keeper is gone, and all that it kept.
    pub(super) fn lost(&mut self) {
        self.keeping = None;
        self.course.lost(Mono::now());
    }

    /// Kills all that this process has started, before the claim of this work ends where that is
    /// a promise. If the promise is broken, `member` halts, so that the role moves a session later.
    ///
    /// # Errors
    /// Something was left: then the process must end without leaving its group.
    pub(super) fn end_everything(&mut self, until: Mono, member: &Member) -> Result<(), HoldError> {
        // To find all that there is takes time; this reaches the command at once.
        if let Some(keeping) = self.keeping.take() {
            keeping.kill();
        }
        let cgroup = self.recipe.cgroup.as_ref();
        let promised = self.recipe.promised && self.runs();
        let now = Mono::now();
        // At the end of its promise the member would join again, and others could lead: it halts
        // before. A host that is so late that the end has come leaves no more time than that.
        let short = self.recipe.stopping.margin / 4;
        let by = if promised { (until - short).max(now + short) } else { now + DEATH };
        if kill_all(None, cgroup, Some(by)) {
            return Ok(());
        }
        if promised {
            let halted = Mono::now();
            member.halt();
            tracing::debug!("The member has halted, and the command runs.");
            // Whether the host was late or the kernel cannot end it, the user is to know.
            if kill_all(None, cgroup, Some(Mono::now() + DEATH)) {
                if let Some(cgroup) = cgroup {
                    cgroup.remove();
                }
                return Err(HoldError::Late(Span(Mono::now().since(halted))));
            }
        }
        Err(HoldError::Outlived)
    }
}

/// Makes this process the parent of what its descendants leave behind.
///
/// # Errors
/// The system refuses.
pub(super) fn adopt() -> Result<(), HoldError> {
    let own = rustix::process::getpid();
    rustix::process::set_child_subreaper(Some(own)).map_err(|error| HoldError::System {
        what: "what a command leaves cannot be found",
        source: error.into(),
    })
}

/// What a command learns of its role.
pub(super) fn environment(
    topology: &TopologyName,
    group: &GroupName,
    life: &Life,
    role: &RoleName,
) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("TANDEM_ROLE".to_owned(), role.to_string()),
        ("TANDEM_GROUP".to_owned(), group.to_string()),
        ("TANDEM_TOPOLOGY".to_owned(), topology.to_string()),
        ("TANDEM_NAME".to_owned(), life.member.to_string()),
        ("TANDEM_INCARNATION".to_owned(), life.incarnation.to_string()),
    ])
}
