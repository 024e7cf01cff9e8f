//! Runs a command while the member leads a role.

use std::ffi::OsString;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::cgroup::Cgroup;
use super::course::{OnExit, Sequel};
use super::deadlines::Stopping;
use super::departure::Departs;
use super::family::LOOK;
use super::keeping::{Heard, Output};
use super::protocol::{CommandEnd, Order, Report};
use super::serve::ServeAt;
use super::until_left::until_left;
use super::work::{Recipe, Work, adopt, environment};
use super::{HoldError, Holder};
use crate::ids::{RoleIndex, RoleName};
use crate::time::{Mono, Span};

/// How often the claim is compared with the clock, and renewed at the keeper.
const TICK: Duration = Duration::from_millis(20);
/// The code of a command that died of SIGTERM, as shells report it.
const TERMINATED: u8 = 128 + 15;
/// How long after such an end this process may get the same signal.
const TOGETHER: Duration = Duration::from_millis(200);

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
    /// Where they are, if it has a cgroup of its own.
    pub cgroup: Option<Cgroup>,
    /// Where the sidecar answers, if there is one.
    pub sidecar: Option<ServeAt>,
    /// How its keeper leaves the group for it, if it dies and its group is to be left.
    pub departs: Option<Departs>,
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
    /// It is not started: its keeper acts so late that it could not end it in time.
    Declined(Span),
    /// The keeper is gone; what it kept is killed.
    Lost,
    /// The keeper did not end the command in time; this process does.
    Overrun,
}

impl Happening {
    /// Whether it belongs to the course of things.
    pub(super) const fn is_expected(&self) -> bool {
        match self {
            Self::Started(_) => true,
            Self::Ended(end) => end.asked && !end.killed,
            Self::Again(_) | Self::Failed(_) | Self::Declined(_) | Self::Lost | Self::Overrun => {
                false
            }
        }
    }
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
            Self::Declined(late) => write!(
                f,
                "the command is not started: this host acts {} ms late, and the claim leaves no \
                 time for that",
                late.get().as_millis()
            ),
            Self::Lost => f.write_str("the keeper of the command died; all that it kept is killed"),
            Self::Overrun => f.write_str("the keeper did not end the command; it is killed now"),
        }
    }
}

/// Why the wrapper has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrapped {
    /// It was asked to.
    Stopped,
    /// The command ended by itself, and nothing is to follow.
    Ended(CommandEnd),
}

/// One run of the wrapper.
struct Run<'a> {
    holder: &'a Holder,
    work: Work,
    say: &'a mut dyn FnMut(Happening),
    departs: Option<&'a Departs>,
    /// The id of the member that the keeper knows.
    known_as: Option<String>,
    stop: &'a AtomicBool,
    /// Whether the command has ended for the stop, so that none starts any more.
    stopped: bool,
}

impl Wrapper {
    /// Runs the command while the member leads, until `stop` is set. When it returns, the command
    /// has ended. In the exclusive mode the member has not left its group yet; in the others it has
    /// if it was asked to stop, and its command ran until others led.
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
        // If the keeper dies, its descendants become children of this process.
        adopt()?;
        let lead = holder.member.lead(self.role.0);
        let mut work = Work::new(self.recipe(holder), lead);
        work.start_keeper(Output::Inherited)?;
        let (departs, known_as, stopped) = (self.departs.as_ref(), None, false);
        let mut run = Run { holder, work, say, departs, known_as, stop, stopped };
        let ended = until_left(&holder.member, holder.exclusive, stop, |wanted| run.turn(wanted));
        // It leaves by itself, or must not.
        run.work.last_order(&Order::Depart { like: None });
        ended
    }

    fn recipe(&self, holder: &Holder) -> Recipe {
        let mut environment =
            environment(&holder.topology, &holder.group, &holder.life, &self.role.1);
        let sidecar = self.sidecar.as_ref().map(ServeAt::to_string);
        environment.extend(sidecar.map(|at| ("TANDEM_SIDECAR".to_owned(), at)));
        Recipe {
            command: self.command.clone(),
            stopping: self.stopping,
            on_exit: self.on_exit,
            mark: self.mark.clone(),
            promised: holder.exclusive,
            cgroup: self.cgroup.clone(),
            environment,
        }
    }
}

impl Run<'_> {
    /// One tick. Says when the run is over.
    fn turn(&mut self, wanted: bool) -> Result<Option<Wrapped>, HoldError> {
        self.introduce();
        if let Some(over) = self.listen(TICK)? {
            return Ok(Some(over));
        }
        let well = self.holder.is_well();
        if !self.work.runs() {
            if !wanted {
                return Ok(Some(Wrapped::Stopped));
            }
            // Only now: an exclusive role is given up after its command is known to be gone.
            if self.holder.member.is_well() != well {
                self.holder.member.health(well);
            }
        }
        // In the other modes an unhealthy one goes on until others lead, and its claim ends then.
        let goes_on = well || (self.work.runs() && !self.holder.exclusive);
        if let Some(until) = self.work.step(wanted && goes_on && !self.stopped) {
            self.lost(Happening::Overrun, until)?;
        }
        Ok(None)
    }

    /// The keeper learns by which id it is to leave.
    fn introduce(&mut self) {
        let Some(departs) = self.departs else { return };
        let known_as = self.holder.member_id();
        if known_as != self.known_as {
            let like = known_as.as_deref().map(|id| departs.known_as(id));
            self.work.order(&Order::Depart { like });
            self.known_as = known_as;
        }
    }

    /// Takes one report of the keeper.
    fn listen(&mut self, within: Duration) -> Result<Option<Wrapped>, HoldError> {
        match self.work.heard(within) {
            Heard::Nothing => Ok(None),
            Heard::Gone => self.lost(Happening::Lost, self.work.until()).map(|()| None),
            Heard::Report(Report::Started { pid }) => {
                self.work.started();
                (self.say)(Happening::Started(pid));
                Ok(None)
            }
            Heard::Report(Report::Failed { why }) => {
                (self.say)(Happening::Failed(why));
                Ok(self.ended(CommandEnd::NOT_RUN))
            }
            Heard::Report(Report::Declined { late }) => {
                (self.say)(Happening::Declined(late));
                let wait = self.work.declined(Mono::now());
                (self.say)(Happening::Again(wait));
                Ok(None)
            }
            Heard::Report(Report::Ended(mut end)) => {
                self.stopped = !end.asked && self.is_stopped(end);
                end.asked |= self.stopped;
                (self.say)(Happening::Ended(end));
                Ok(self.ended(end))
            }
        }
    }

    /// Whether a command that this process has not asked to end has ended because all is to. A
    /// service manager sends SIGTERM to all processes of a unit, to the command first or last.
    fn is_stopped(&self, end: CommandEnd) -> bool {
        if self.stop.load(Ordering::SeqCst) {
            return true;
        }
        if end.code() != TERMINATED {
            return false;
        }
        let by = Mono::now() + TOGETHER;
        while !self.stop.load(Ordering::SeqCst) {
            if Mono::now() >= by {
                return false;
            }
            std::thread::sleep(LOOK);
        }
        true
    }

    fn ended(&mut self, end: CommandEnd) -> Option<Wrapped> {
        let now = Mono::now();
        match self.work.ended(now, end) {
            Sequel::Leave(end) => Some(Wrapped::Ended(end)),
            Sequel::Again(at) => {
                if at > now {
                    (self.say)(Happening::Again(at.since(now)));
                }
                None
            }
        }
    }

    /// Ends the keeper and all that it kept, by `until` where that is a promise, and starts anew.
    fn lost(&mut self, what: Happening, until: Mono) -> Result<(), HoldError> {
        (self.say)(what);
        self.work.end_everything(until, &self.holder.member)?;
        self.work.lost();
        self.known_as = None;
        self.work.start_keeper(Output::Inherited)
    }
}
