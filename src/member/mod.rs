//! `tandem member`: a member as a process, with its channel to the controller, its stand-in duty,
//! and its commands.
//!
//! The member itself is the library [`tandem_member`]. Next to it the *duty* ticks while the member
//! leads, and *commands* arrive on standard input. They share the claims and the channel on
//! standard output. With *programs* of the user, these do the duty, on threads of their own.

mod arguments;
mod channel;
mod commands;
pub mod duty;
pub mod etcd;
mod lateness;
mod programs;
mod service;

use std::sync::{Arc, Mutex, PoisonError};

pub use arguments::{arguments, config_of, duty_argument, etcd_config_of};
pub use channel::Channel;
pub use commands::MemberCommand;
pub use programs::{DutyOrder, Programs, RunPrograms};
pub use service::Service;
use tandem_member::{Claims, Config, Event, JoinError, Member};

use crate::observation::What;

/// Runs the member until a command or a signal ends it. Its duty is that of `programs`, if there
/// are any.
///
/// # Errors
/// The client refuses its configuration, or a signal handler cannot be set.
pub fn run(config: &Config, programs: Option<Programs>) -> Result<(), MemberError> {
    let claims = Arc::new(Claims::new(config.width));
    let channel = Channel::new(std::io::stdout(), config.life.clone(), Arc::clone(&claims));
    let channel = Arc::new(Mutex::new(channel?));
    let (own, commands) = commands::listen()?;
    let service = programs.as_ref().map(|programs| Arc::clone(&programs.service));
    duty::start(Arc::clone(&claims), Arc::clone(&channel), service)?;
    let ends = EndsWithMember;
    let member = Member::join_with(claims, config, move |now, event| {
        let EndsWithMember = &ends;
        let mut channel = channel.lock().unwrap_or_else(PoisonError::into_inner);
        channel.send(now, what(event));
    })?;
    let member = Arc::new(member);
    let programs = programs.map(|programs| programs.start(&member, own)).transpose()?;
    loop {
        match commands.recv() {
            Ok(MemberCommand::Clock(skew)) => member.shift_clock(skew),
            Ok(MemberCommand::Leave) => {
                // With programs, these end and the member leaves, in the order that its mode needs.
                let Some(programs) = programs else {
                    member.depart();
                    return Ok(());
                };
                if !programs.leave() {
                    // One of them may still run: the role may move a session later at the earliest.
                    std::mem::forget(member);
                }
                return Ok(());
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

/// Converts an event to a fact.
#[must_use]
pub fn what(event: Event) -> What {
    match event {
        Event::Assigned(assignment) => What::Assigned {
            generation: assignment.generation,
            member_id: assignment.member_id,
            partitions: assignment.partitions,
        },
        Event::Revoked(partitions) => What::Revoked { partitions },
        Event::Lost(partitions) => What::Lost { partitions },
        Event::Claimed { partition, term, from, until, stands_in_for, fence } => {
            What::Claimed { partition, term, from, until, stands_in_for, fence }
        }
        Event::Renewed(claims) => What::Renewed { claims },
        Event::Lapsed { partition, term, at, why } => What::Lapsed { partition, term, at, why },
        Event::Clock(wall) => What::Clock { wall },
        Event::Unconnected(why) => What::Unconnected { why },
        Event::Connected => What::Connected,
        Event::Left => What::Leaving,
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
}
