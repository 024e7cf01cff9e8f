//! A member of a group that elects among its members, as a process: the core of any of
//! [`neli::elections::among`](crate::neli::elections::among), driven by ways to the others (Unix
//! sockets, or subjects of NATS) and, where it votes, a file with its votes.
//!
//! ```text
//!   the others ---> ways ---+             +--> ways ----> the others
//!                           +--> driver --+
//!   disk ---------> votes --+             +--> votes ---> disk
//! ```
//!
//! Sockets and votes of all members are in one folder: `p2-1.sock`, `p2-1.votes`. A process holds
//! the lock of its member's `p2-1.lock` for its life, so that a second one with the same name takes
//! no part while the first lives.

mod driver;
mod folder;
mod links;
mod subjects;
mod votes;
mod ways;
mod wire;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread::Builder;
use std::time::Duration;

use driver::Driver;
use folder::Folder;
pub use votes::VotesError;
use votes::Writer;
use ways::Ways;

use super::other::member_arguments;
use super::reporter::Reporter;
use super::tls::{self, Properties};
use super::{EndsWithMember, MemberCommand, MemberError, commands};
use crate::ids::{Life, MemberId};
use crate::neli::elections::among::{Among, Frame, Peer};
use crate::time::Skew;

/// The longest time that leaving takes.
const LEAVE_MAX: Duration = Duration::from_secs(2);
/// The most inputs that wait for the member's thread; further ones wait for room.
const WAITING: usize = 256;

/// Where members reach each other over NATS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nats {
    /// The addresses of its servers: `host:port`, with commas.
    pub servers: String,
    /// What the subjects of the group begin with: `<subject>.<member>`.
    pub subject: String,
    /// Whether it is reached over TLS, and where certificates and keys are.
    pub properties: Properties,
}

/// The configuration of one life of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AmongConfig {
    /// The member's name and incarnation.
    pub life: Life,
    /// By which election.
    pub election: Among,
    /// All members of the group, itself included, in the same order at each.
    pub members: Vec<MemberId>,
    /// The folder for the sockets, the locks and the votes of all.
    pub folder: PathBuf,
    /// How they reach each other, if not by sockets in that folder.
    pub nats: Option<Nats>,
    /// The number of partitions.
    pub width: NonZeroU32,
    /// How long a member may be silent until others act.
    pub session: Duration,
    /// How often a leader gives a sign of life.
    pub heartbeat: Duration,
}

impl AmongConfig {
    /// The arguments of `tandem` that start this member.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let span = |span: Duration| crate::time::Span(span).to_string();
        let names: Vec<&str> = self.members.iter().map(MemberId::as_str).collect();
        let options = [
            ("election", self.election.to_string()),
            ("members", names.join(",")),
            ("folder", self.folder.display().to_string()),
            ("partitions", self.width.to_string()),
            ("session", span(self.session)),
            ("heartbeat", span(self.heartbeat)),
        ];
        let nats = self.nats.iter().flat_map(|nats| {
            let place = [format!("--nats={}", nats.servers), format!("--subject={}", nats.subject)];
            place.into_iter().chain(tls::arguments(&nats.properties))
        });
        member_arguments(&self.life, options).into_iter().chain(nats).collect()
    }

    /// Its place among the members, and how many they are.
    fn place(&self) -> Result<(Peer, u16), VotesError> {
        let me = self.members.iter().position(|member| *member == self.life.member);
        let place = me.and_then(|me| u16::try_from(me).ok());
        let (Some(me), Ok(count)) = (place, u16::try_from(self.members.len())) else {
            return Err(VotesError::Stranger(self.life.member.clone()));
        };
        Ok((Peer(me), count))
    }
}

/// An input of the member's thread.
enum Input {
    Heard(Peer, Frame),
    /// The member's connection to another one is made, or has ended.
    Linked(Peer, bool),
    Saved(u64),
    /// The votes cannot be kept.
    Unsaved(VotesError),
    Clock(Skew),
    /// Nothing passes between it and the others from now on, or all does again.
    Cut(bool),
    Leave,
}

/// Runs the member until a command or a signal ends it.
///
/// # Errors
/// The folder cannot be used, the votes of an earlier life cannot be read, or a thread cannot be
/// set up.
pub fn run(config: &AmongConfig) -> Result<(), MemberError> {
    let (own, commands) = commands::listen()?;
    let reporter = Reporter::begin(&config.life, config.width)?;
    let (me, count) = config.place().map_err(MemberError::Votes)?;
    let folder = Folder::make(&config.folder, &config.life.member).map_err(MemberError::Votes)?;
    let (inputs, received) = sync_channel(WAITING);
    let (done, gone) = sync_channel(1);
    let (config, inputs_of_ways) = (config.clone(), inputs.clone());
    let leaves = Arc::new(AtomicBool::new(false));
    let leaving = Arc::clone(&leaves);
    let _ends_with_its_command = Builder::new().name("member".to_owned()).spawn(move || {
        let _ends = EndsWithMember;
        let live = || {
            let Some(_lock) = folder.lock(&leaving)? else { return Ok(()) };
            let votes = || Writer::start(&folder, inputs_of_ways.clone());
            let writer = config.election.votes().then(votes).transpose()?;
            let ways = Ways::start(&config, &folder, me, &inputs_of_ways)?;
            Driver::new(&config, (me, count), ways, writer, reporter).live(&received)
        };
        // The receiver is gone if leaving took too long.
        done.send(live()).ok();
        own.send(MemberCommand::Exit).ok();
    })?;
    loop {
        match commands.recv() {
            Ok(MemberCommand::Clock(skew)) => drop(inputs.try_send(Input::Clock(skew))),
            Ok(MemberCommand::Cut(off)) => drop(inputs.try_send(Input::Cut(off))),
            Ok(MemberCommand::Leave) => {
                leaves.store(true, Ordering::Relaxed);
                // One that waits for the lock takes nothing from its queue.
                inputs.try_send(Input::Leave).ok();
                gone.recv_timeout(LEAVE_MAX).ok();
                return Ok(());
            }
            // The controller is gone, or wants no orderly leave; or the member cannot go on.
            Ok(MemberCommand::Exit) | Err(_) => {
                return gone.try_recv().unwrap_or(Ok(())).map_err(MemberError::Votes);
            }
        }
    }
}
