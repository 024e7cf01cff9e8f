//! The programs of a member that Tandem started: one for each role, while the member leads it.
//!
//! ```text
//!  member -- claims --> duties -- start, renew, stop --> keeper of a role --> program
//!    ^                    ^ |                                                   |
//!    +--- last service ---+-+<---- it is alive, or each line on its pipe -------+
//! ```
//!
//! One thread looks after all programs. If one of their keepers is lost, or ends its program too
//! late, all of them are ended: what a keeper left behind is not known apart from the rest.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{Builder, sleep};
use std::time::Duration;

use super::course::{OnExit, Sequel};
use super::deadlines::Stopping;
use super::keeping::{Heard, Output};
use super::protocol::{CommandEnd, Report};
use super::until_left::until_left;
use super::work::{Recipe, Work, adopt, environment};
use super::{Happening, HoldError};
use crate::guard::{Identity, MARK, work_mark};
use crate::ids::{Life, RoleIndex, RoleName};
use crate::member::{DutyOrder, Service};
use crate::time::Mono;
use tandem_member::{Config, Member};

/// How often claims are compared with the clock, and programs looked at.
const TICK: Duration = Duration::from_millis(10);
/// The keepers of so many roles are started before the member leads them: to start one took 10 ms
/// on an idle host, 60 ms beside 4 busy loops on two processors and 170 ms beside 12, and no
/// program works meanwhile. Those of other roles are processes without a purpose.
const AHEAD: usize = 8;

/// What the members of a group run while they lead.
pub struct Duties {
    order: DutyOrder,
    life: Life,
    /// Whether claims are promises.
    promised: bool,
    service: Arc<Service>,
}

/// The program of one role.
struct Duty {
    role: RoleIndex,
    name: RoleName,
    work: Work,
    /// Whether it says itself that it serves.
    ticks: bool,
    /// Its process, where being alive is service.
    alive: Option<Identity>,
    /// Whether its keeper is started before the role is led. Not again, once one was lost.
    ahead: bool,
}

/// What one turn found.
enum Turn {
    Fine,
    /// All programs must be ended, by then where that is a promise.
    Lost(Mono),
}

impl Duties {
    /// The programs of a member with this configuration.
    #[must_use]
    pub fn new(order: DutyOrder, config: &Config) -> Self {
        let service = Arc::new(Service::new(config.width, order.roles.len()));
        let (life, promised) = (config.life.clone(), config.mode.is_exclusive());
        Self { order, life, promised, service }
    }

    /// When they gave service.
    #[must_use]
    pub fn service(&self) -> Arc<Service> {
        Arc::clone(&self.service)
    }

    /// Runs the programs of the roles that `member` leads, until `stop` is set. Then it ends them,
    /// and leaves the group. In the exclusive mode that is the order; in the others the member
    /// leads on until others do, and so do its programs.
    ///
    /// # Errors
    /// A program cannot be started under a keeper, or cannot be ended: then the process must end
    /// without leaving.
    pub fn run(&self, member: &Member, stop: &AtomicBool) -> Result<(), HoldError> {
        adopt()?;
        let mut duties: Vec<Duty> = self.duties(member);
        until_left(member, self.promised, stop, |wanted| {
            self.turn(&mut duties, wanted, member)?;
            if !wanted && !duties.iter().any(|duty| duty.work.runs()) {
                return Ok(Some(()));
            }
            sleep(TICK);
            Ok(None)
        })?;
        if self.promised {
            member.depart();
        }
        Ok(())
    }

    fn duties(&self, member: &Member) -> Vec<Duty> {
        let DutyOrder { topology, group, roles, duty } = &self.order;
        let Self { life, promised, .. } = self;
        let run = std::env::var(MARK).unwrap_or_default();
        let of = |(at, (role, name)): (usize, (RoleIndex, RoleName))| {
            let recipe = Recipe {
                command: duty.command.iter().map(OsString::from).collect(),
                stopping: Stopping { grace: duty.grace.get(), margin: duty.margin.get() },
                on_exit: OnExit::Restart,
                mark: work_mark(&run, std::process::id()),
                promised: *promised,
                cgroup: None,
                environment: environment(topology, group, life, &name),
            };
            let work = Work::new(recipe, member.lead(role));
            let ahead = at < AHEAD;
            Duty { role, name, work, ticks: duty.ticks, alive: None, ahead }
        };
        roles.indices().zip(roles.names()).enumerate().map(of).collect()
    }

    fn turn(&self, duties: &mut [Duty], wanted: bool, member: &Member) -> Result<(), HoldError> {
        for at in 0..duties.len() {
            let Some(duty) = duties.get_mut(at) else { break };
            if let Turn::Lost(until) = duty.turn(&self.service, wanted)? {
                duty.work.end_everything(until, member)?;
                duties.iter_mut().for_each(Duty::lost);
            }
        }
        Ok(())
    }
}

impl Duty {
    fn turn(&mut self, service: &Arc<Service>, wanted: bool) -> Result<Turn, HoldError> {
        match self.work.heard(Duration::ZERO) {
            Heard::Nothing => {}
            Heard::Gone => {
                self.say(&Happening::Lost);
                return Ok(Turn::Lost(self.work.until()));
            }
            Heard::Report(Report::Started { pid }) => {
                self.work.started();
                self.say(&Happening::Started(pid));
                self.alive = Identity::of(pid).filter(|_| !self.ticks);
            }
            Heard::Report(Report::Failed { why }) => {
                self.say(&Happening::Failed(why));
                self.ended(CommandEnd::NOT_RUN);
            }
            Heard::Report(Report::Declined { late }) => {
                self.say(&Happening::Declined(late));
                let wait = self.work.declined(Mono::now());
                self.say(&Happening::Again(wait));
            }
            Heard::Report(Report::Ended(end)) => {
                self.say(&Happening::Ended(end));
                self.ended(end);
            }
        }
        // Before the process is looked at, so that it was alive then.
        let now = Mono::now();
        if self.alive.is_some_and(Identity::runs) {
            service.seen(self.role, now);
        }
        if wanted && !self.work.has_keeper() && (self.ahead || self.work.is_due()) {
            let output = if self.ticks { self.pipe(service) } else { Ok(Output::Log) };
            let refused =
                |source| HoldError::System { what: "there is no pipe for a program", source };
            self.work.start_keeper(output.map_err(refused)?)?;
        }
        Ok(match self.work.step(wanted) {
            Some(until) => {
                self.say(&Happening::Overrun);
                Turn::Lost(until)
            }
            None => Turn::Fine,
        })
    }

    /// The pipe on which the program ticks.
    fn pipe(&self, service: &Arc<Service>) -> io::Result<Output> {
        let (reader, writer): (PipeReader, PipeWriter) = io::pipe()?;
        let (service, role) = (Arc::clone(service), self.role);
        let _ends_with_the_keeper = Builder::new()
            .name("ticks".to_owned())
            .spawn(move || listen(reader, &service, role))?;
        Ok(Output::Ticks(writer))
    }

    fn ended(&mut self, end: CommandEnd) {
        self.alive = None;
        let now = Mono::now();
        match self.work.ended(now, end) {
            Sequel::Again(at) if at > now => self.say(&Happening::Again(at.since(now))),
            Sequel::Again(_) | Sequel::Leave(_) => {}
        }
    }

    fn lost(&mut self) {
        (self.alive, self.ahead) = (None, false);
        self.work.lost();
    }

    fn say(&self, what: &Happening) {
        let role = &self.name;
        if what.is_expected() {
            tracing::info!(%role, "{what}");
        } else {
            tracing::warn!(%role, "{what}");
        }
    }
}

/// Each line is a tick, at the instant at which it is read.
fn listen(mut pipe: PipeReader, service: &Service, role: RoleIndex) {
    let mut bytes = [0; 4096];
    loop {
        match pipe.read(&mut bytes) {
            Ok(0) => return,
            Ok(count) => {
                if bytes.iter().take(count).any(|byte| *byte == b'\n') {
                    service.seen(role, Mono::now());
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return tracing::warn!(%error, "The ticks of a program broke off."),
        }
    }
}
