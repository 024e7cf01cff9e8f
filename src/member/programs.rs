//! Programs of the user that do the work of the roles, in place of the stand-in duty. How they are
//! run is known elsewhere; a member starts that on a thread of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread::{Builder, JoinHandle};

use serde::{Deserialize, Serialize};
use tandem_member::Member;

use super::{EndsWithMember, MemberCommand, Service, commands};
use crate::ids::{GroupName, TopologyName};
use crate::roles::Roles;
use crate::topology::PlannedDuty;

/// What a controller wants its member to run for each role that it leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DutyOrder {
    /// The topology.
    pub topology: TopologyName,
    /// The group.
    pub group: GroupName,
    /// All roles of the topology.
    pub roles: Roles,
    /// The program.
    pub duty: PlannedDuty,
}

/// Runs programs until the flag is set; then ends them, and leaves the group. An error if one of
/// them may still run: then the member has not left, and must not.
pub type RunPrograms = dyn FnOnce(&Member, &AtomicBool) -> Result<(), String> + Send;

/// The programs of a member.
pub struct Programs {
    /// When they gave service.
    pub service: Arc<Service>,
    /// Runs them.
    pub run: Box<RunPrograms>,
}

/// Programs that run.
pub(super) struct Running {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<bool>,
}

impl Programs {
    /// Starts the thread. If it fails, the member gets the command to end without leaving.
    pub(super) fn start(
        self,
        member: &Arc<Member>,
        own: SyncSender<MemberCommand>,
    ) -> io::Result<Running> {
        let stop = Arc::new(AtomicBool::new(false));
        let (member, stopped, run) = (Arc::clone(member), Arc::clone(&stop), self.run);
        let thread = Builder::new().name("programs".to_owned()).spawn(move || {
            let _ends = EndsWithMember;
            let outcome = run(&member, &stopped);
            if let Err(error) = &outcome {
                tracing::error!(error, "The programs cannot be run; the member ends.");
                // Dropping the last handle would leave the group.
                std::mem::forget(member);
                commands::send(&own, MemberCommand::Exit);
            }
            outcome.is_ok()
        })?;
        Ok(Running { stop, thread })
    }
}

impl Running {
    /// Ends the programs and leaves the group. Returns whether that is done.
    pub(super) fn leave(self) -> bool {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().unwrap_or(false)
    }
}
