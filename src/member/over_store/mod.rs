//! A member of a group that elects over a store, as a process: its core, driven by a client of the
//! store.

mod driver;

use std::num::NonZeroU32;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use driver::Driver;

use super::reporter::Reporter;
use super::{EndsWithMember, MemberCommand, MemberError, commands};
use crate::ids::Life;
use crate::neli::elections::over_store::OverStore;
use crate::time::{Mono, Skew};

/// The longest time that leaving takes: the store may not answer.
const LEAVE_MAX: Duration = Duration::from_secs(2);
/// The most inputs that wait for the member's thread; further ones wait for room.
const WAITING: usize = 64;

/// A connection to a store.
pub(super) trait Store: Sized + Send + 'static {
    /// What elects over it.
    type Core: OverStore<Request: Send, Answer: Send, Watched: Send> + Send + 'static;

    /// Its name.
    const NAME: &'static str;

    /// Sends a request, and returns at once.
    fn send(&mut self, number: u64, request: <Self::Core as OverStore>::Request);

    /// Whether the store has carried the request out that it answers so.
    fn reached(answer: &<Self::Core as OverStore>::Answer) -> bool;

    /// Warns of an answer that makes the plan's bounds wrong.
    fn warn_of(&self, answer: &<Self::Core as OverStore>::Answer);
}

/// An input of the member's thread.
pub(super) enum Input<C: OverStore> {
    /// With the reason, if the store refused or did not answer.
    Answer(u64, C::Answer, Option<String>),
    Watched(u64, C::Watched),
    Clock(Skew),
    Leave,
}

/// How to answer a store's requests.
pub(super) type Inputs<S> = SyncSender<Input<<S as Store>::Core>>;

/// Runs a member until a command or a signal ends it. It says that it does not reach the store when
/// no request succeeded for this `silence`.
///
/// # Errors
/// The client or a thread cannot be set up.
pub(super) fn run<S: Store>(
    (life, width): (&Life, NonZeroU32),
    silence: Duration,
    core: impl FnOnce(Mono) -> S::Core,
    store: impl FnOnce(Inputs<S>) -> Result<S, MemberError>,
) -> Result<(), MemberError> {
    let (_own, commands) = commands::listen()?;
    let reporter = Reporter::begin(life, width)?;
    let (inputs, received) = sync_channel(WAITING);
    let store = store(inputs.clone())?;
    let now = Mono::now();
    let driver = Driver::new(now, core(now), store, silence, reporter);
    let (done, gone) = sync_channel(1);
    let _ends_with_its_command = Builder::new().name("member".to_owned()).spawn(move || {
        let _ends = EndsWithMember;
        driver.live(&received);
        // The receiver is gone if leaving took too long.
        done.send(()).ok();
    })?;
    loop {
        match commands.recv() {
            Ok(MemberCommand::Clock(skew)) => drop(inputs.send(Input::Clock(skew))),
            // It speaks to its store alone.
            Ok(MemberCommand::Cut(_)) => {}
            Ok(MemberCommand::Leave) => {
                inputs.send(Input::Leave).ok();
                gone.recv_timeout(LEAVE_MAX).ok();
                return Ok(());
            }
            // The controller is gone, or wants no orderly leave: the lease or session expires.
            Ok(MemberCommand::Exit) | Err(_) => return Ok(()),
        }
    }
}
