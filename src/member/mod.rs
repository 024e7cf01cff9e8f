//! `tandem member`: a member as a process, with its channel to the controller, its stand-in duty,
//! and its commands.
//!
//! The member itself is the library [`tandem_member`]. Next to it the *duty* ticks while the member
//! leads, and *commands* arrive on standard input. They share the claims and the channel on
//! standard output. With *programs* of the user, these do the duty, on threads of their own.

pub mod among;
mod arguments;
mod channel;
mod commands;
pub mod duty;
pub mod etcd;
mod lateness;
mod other;
mod over_store;
mod programs;
mod reporter;
mod service;
pub mod tls;
pub mod zookeeper;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use arguments::{arguments, config_of, duty_argument, named};
pub use channel::Channel;
pub use commands::MemberCommand;
pub use other::OtherConfig;
pub use programs::{DutyOrder, Programs, RunPrograms};
pub use service::Service;
use tandem_member::{Claims, Config, Event, JoinError, Member, Misfit};

use crate::observation::MemberEvent;

/// Runs the member until a command or a signal ends it. Its duty is that of `programs`, if there
/// are any.
///
/// # Errors
/// The client refuses its configuration, a signal handler cannot be set, or the group does not work
/// with the member.
pub fn run(config: &Config, programs: Option<Programs>) -> Result<(), MemberError> {
    let claims = Arc::new(Claims::new(config.width));
    let channel = Channel::new(std::io::stdout(), config.life.clone(), Arc::clone(&claims));
    let channel = Arc::new(Mutex::new(channel?));
    let (own, commands) = commands::listen()?;
    let service = programs.as_ref().map(|programs| Arc::clone(&programs.service));
    duty::start(Arc::clone(&claims), Arc::clone(&channel), service)?;
    let ends = EndsWithMember;
    let refused = Arc::new(OnceLock::new());
    let (noted, ordered) = (Arc::clone(&refused), own.clone());
    let member = Member::join_with(claims, config, move |now, event| {
        let EndsWithMember = &ends;
        if let Event::Refused(misfit) = &event {
            // Once. A full queue holds an order to leave already.
            noted.set(misfit.clone()).ok();
            ordered.try_send(MemberCommand::Leave).ok();
        }
        let mut channel = channel.lock().unwrap_or_else(PoisonError::into_inner);
        channel.send(now, reported(event));
    })?;
    let member = Arc::new(member);
    let programs = programs.map(|programs| programs.start(&member, own)).transpose()?;
    loop {
        match commands.recv() {
            Ok(MemberCommand::Clock(skew)) => member.shift_clock(skew),
            // Its edges cut it off.
            Ok(MemberCommand::Cut(_)) => {}
            Ok(MemberCommand::Leave) => {
                // With programs, these end and the member leaves, in the order that its mode needs.
                let left = match programs {
                    None => {
                        member.depart();
                        true
                    }
                    Some(programs) => programs.leave(),
                };
                if !left {
                    // One of them may still run: the role may move a session later at the earliest.
                    std::mem::forget(member);
                }
                let misfit = refused.get().cloned();
                return misfit.map_or(Ok(()), |misfit: Misfit| Err(JoinError::from(misfit).into()));
            }
            // The controller is gone, or wants no orderly leave: the process ends, and the broker
            // notices by itself.
            Ok(MemberCommand::Exit) | Err(_) => {
                std::mem::forget(member);
                return Ok(());
            }
        }
    }
}

/// Held by the member's thread. A panic there aborts the process, like one on the main thread: the
/// controller then sees a death instead of a process without its member.
struct EndsWithMember;

impl Drop for EndsWithMember {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// What an event of the member library is as a fact.
#[must_use]
pub fn reported(event: Event) -> MemberEvent {
    match event {
        Event::Assigned(assignment) => MemberEvent::Assigned {
            generation: assignment.generation,
            member_id: assignment.member_id,
            partitions: assignment.partitions,
        },
        Event::Revoked(partitions) => MemberEvent::Revoked { partitions },
        Event::Lost(partitions) => MemberEvent::Lost { partitions },
        Event::Claimed { partition, term, from, until, stands_in_for, fence } => {
            MemberEvent::Claimed { partition, term, from, until, stands_in_for, fence }
        }
        Event::Renewed(claims) => MemberEvent::Renewed { claims },
        Event::Lapsed { partition, term, at, why } => {
            MemberEvent::Lapsed { partition, term, at, why }
        }
        Event::Clock(wall) => MemberEvent::Clock { wall },
        Event::Unconnected(why) => MemberEvent::Unconnected { why },
        Event::Connected => MemberEvent::Connected,
        Event::Left => MemberEvent::Leaving,
        Event::Refused(misfit) => MemberEvent::Refused { why: misfit.to_string() },
    }
}

/// Why a member could not run.
#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    /// The member did not join.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// The system refused a thread, a signal handler or the channel.
    #[error("the member cannot be set up")]
    System(#[from] std::io::Error),
    /// The client of the store cannot be set up.
    #[error("the member cannot start its client of etcd")]
    Store(#[source] etcd::StoreError),
    /// The member cannot take part in the votes of its group.
    #[error("the member cannot vote")]
    Votes(#[source] among::VotesError),
}
