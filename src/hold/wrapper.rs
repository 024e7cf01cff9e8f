//! Runs a command while the member leads a role.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::course::{Course, OnExit, Sequel, Step};
use super::deadlines::Stopping;
use super::family::family;
use super::keeping::{Heard, Keeping, kill_all};
use super::name_lock::MARK;
use super::protocol::{CommandEnd, Order, Report};
use super::{HoldError, Holder};
use crate::ids::{RoleIndex, RoleName};
use crate::time::{Mono, Span};
use tandem_member::Lead;

/// How often the claim is compared with the clock, and renewed at the keeper.
const TICK: Duration = Duration::from_millis(20);
/// How long the kernel has to end what is killed, where nothing is promised.
const KILLED: Duration = Duration::from_secs(5);
/// The same, where the promise has passed already.
const LEAST: Duration = Duration::from_millis(100);

/// A command, and how it is run.
#[derive(Debug)]
pub struct Wrapper {
    /// The role for which it runs.
    pub role: (RoleIndex, RoleName),
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// How it is stopped.
    pub stopping: Stopping,
    /// What happens when it ends by itself.
    pub on_exit: OnExit,
    /// What marks its processes.
    pub mark: String,
    /// Where the sidecar answers, if there is one.
    pub sidecar: Option<SocketAddr>,
}

/// What happens to the command.
#[derive(Debug)]
pub enum Happening {
    /// The member leads, and the command runs with this process id.
    Started(u32),
    /// The command has ended, and nothing of it is left.
    Ended(CommandEnd),
    /// It is started again after this, if the member leads.
    Again(Duration),
    /// It cannot be started.
    Failed(String),
    /// The keeper is gone; what it kept is killed.
    Lost,
    /// The keeper did not end the command in time; this process does.
    Overrun,
}

/// A line for a person.
impl fmt::Display for Happening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started(pid) => write!(f, "leads; the command runs as process {pid}"),
            Self::Ended(end) if end.killed => write!(f, "the command was killed: {end}"),
            Self::Ended(end) if end.asked => write!(f, "the command was stopped: {end}"),
            Self::Ended(end) => write!(f, "the command ended by itself: {end}"),
            Self::Again(wait) => write!(f, "it starts again in {} at the earliest", Span(*wait)),
            Self::Failed(why) => write!(f, "the command cannot be started: {why}"),
            Self::Lost => f.write_str("the keeper of the command died; all that it kept is killed"),
            Self::Overrun => f.write_str("the keeper did not end the command; it is killed now"),
        }
    }
}

/// Why the wrapper has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrapped {
    /// It was told to.
    Stopped,
    /// The command ended by itself, and nothing is to follow.
    Ended(CommandEnd),
}

/// One run of the wrapper.
struct Run<'a> {
    wrapper: &'a Wrapper,
    holder: &'a Holder,
    lead: Lead,
    course: Course,
    keeping: Option<Keeping>,
    say: &'a mut dyn FnMut(Happening),
}

impl Wrapper {
    /// Runs the command while the member leads, until `stop` is set. When it returns, the command
    /// has ended, and the member has not left its group yet.
    ///
    /// # Errors
    /// The system refuses the keeper, or the command cannot be ended: then the process must end
    /// without leaving.
    pub fn run(
        &self,
        holder: &Holder,
        stop: &AtomicBool,
        say: &mut dyn FnMut(Happening),
    ) -> Result<Wrapped, HoldError> {
        let refused =
            |source| HoldError::System { what: "what a command leaves cannot be found", source };
        let own = rustix::process::getpid();
        // If the keeper dies, its descendants become children of this process.
        rustix::process::set_child_subreaper(Some(own)).map_err(|error| refused(error.into()))?;
        let mut run = Run {
            wrapper: self,
            holder,
            lead: holder.member.lead(self.role.0),
            course: Course::new(holder.exclusive, self.stopping, self.on_exit),
            keeping: None,
            say,
        };
        run.keeping = Some(run.keeper()?);
        loop {
            let wanted = !stop.load(Ordering::SeqCst);
            if let Some(wrapped) = run.turn(wanted)? {
                return Ok(wrapped);
            }
        }
    }
}

impl Run<'_> {
    fn keeper(&self) -> Result<Keeping, HoldError> {
        let Wrapper { command, stopping, mark, .. } = self.wrapper;
        let started = Keeping::start(command, *stopping, (MARK, mark));
        started.map_err(|source| HoldError::System { what: "the keeper cannot start", source })
    }

    /// One tick. Says when the run is over.
    fn turn(&mut self, wanted: bool) -> Result<Option<Wrapped>, HoldError> {
        if let Some(over) = self.listen(TICK)? {
            return Ok(Some(over));
        }
        let well = self.holder.is_well();
        if !self.course.runs() {
            if !wanted {
                return Ok(Some(Wrapped::Stopped));
            }
            // Only now: an exclusive role is given up after its command is known to be gone.
            if self.holder.member.is_well() != well {
                self.holder.member.health(well);
            }
        }
        let claim = self.lead.claim();
        let (now, until) = (Mono::now(), claim.map(|claim| claim.until));
        match self.course.step(now, until, wanted && well) {
            Step::Rest => {}
            Step::Start(until) => {
                let environment = self.environment(claim.and_then(|claim| claim.fence));
                self.order(&Order::Start { until, environment });
            }
            Step::Renew(until) => {
                tracing::trace!(?now, ?until, "Renewed.");
                self.order(&Order::Renew { until });
            }
            Step::Stop(by) => self.order(&Order::Stop { by }),
            Step::Overrun(until) => {
                tracing::debug!(?now, ?until, "The claim is about to end, and the command runs.");
                self.overrun(until)?;
            }
        }
        Ok(None)
    }

    fn order(&mut self, order: &Order) {
        if let Some(keeping) = &mut self.keeping {
            keeping.order(order);
        }
    }

    /// Takes one report of the keeper.
    fn listen(&mut self, within: Duration) -> Result<Option<Wrapped>, HoldError> {
        let heard = self.keeping.as_ref().map_or(Heard::Gone, |keeping| keeping.heard(within));
        match heard {
            Heard::Nothing => Ok(None),
            Heard::Gone => self.lost(Happening::Lost).map(|()| None),
            Heard::Report(Report::Started { pid }) => {
                (self.say)(Happening::Started(pid));
                Ok(None)
            }
            Heard::Report(Report::Failed { why }) => {
                (self.say)(Happening::Failed(why));
                Ok(self.ended(CommandEnd { status: Some(126), ..CommandEnd::default() }))
            }
            Heard::Report(Report::Ended(end)) => {
                (self.say)(Happening::Ended(end));
                Ok(self.ended(end))
            }
        }
    }

    fn ended(&mut self, end: CommandEnd) -> Option<Wrapped> {
        let now = Mono::now();
        match self.course.ended(now, end) {
            Sequel::Leave(end) => Some(Wrapped::Ended(end)),
            Sequel::Again(at) => {
                if at > now {
                    (self.say)(Happening::Again(at.since(now)));
                }
                None
            }
        }
    }

    /// The claim is about to end. The keeper may have ended the command, and not said so yet: then
    /// it has no child left. One that is stopped starts nothing later, since the claim is over.
    fn overrun(&mut self, until: Mono) -> Result<(), HoldError> {
        let is_gone = |keeping: &Keeping| family(keeping.pid()).is_empty();
        if !self.keeping.as_ref().is_some_and(is_gone) {
            self.lost_by(Happening::Overrun, until)?;
        }
        Ok(())
    }

    fn lost(&mut self, what: Happening) -> Result<(), HoldError> {
        let until = self.lead.claim().map_or(Mono::ZERO, |claim| claim.until);
        self.lost_by(what, until)
    }

    /// Ends the keeper and all that it kept, by `until` where that is a promise, and starts anew.
    fn lost_by(&mut self, what: Happening, until: Mono) -> Result<(), HoldError> {
        (self.say)(what);
        self.keeping = None;
        let now = Mono::now();
        let promised = self.holder.exclusive && self.course.runs();
        let by = if promised { until.max(now + LEAST) } else { now + KILLED };
        if !kill_all(by) {
            return Err(HoldError::Outlived);
        }
        self.course.lost(Mono::now());
        self.keeping = Some(self.keeper()?);
        Ok(())
    }

    /// What the command learns of its role.
    fn environment(&self, fence: Option<i64>) -> BTreeMap<String, String> {
        let holder = self.holder;
        let mut all = BTreeMap::from([
            ("TANDEM_ROLE".to_owned(), self.wrapper.role.1.to_string()),
            ("TANDEM_GROUP".to_owned(), holder.group.to_string()),
            ("TANDEM_TOPOLOGY".to_owned(), holder.topology.to_string()),
            ("TANDEM_NAME".to_owned(), holder.life.member.to_string()),
            ("TANDEM_INCARNATION".to_owned(), holder.life.incarnation.to_string()),
        ]);
        if let Some(address) = self.wrapper.sidecar {
            all.insert("TANDEM_SIDECAR".to_owned(), format!("http://{address}"));
        }
        if let Some(fence) = fence {
            all.insert("TANDEM_FENCE".to_owned(), fence.to_string());
        }
        all
    }
}
