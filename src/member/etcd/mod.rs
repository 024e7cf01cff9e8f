//! A member of a group that elects over etcd, as a process: the core of
//! [`neli::elections::etcd`](crate::neli::elections::etcd), driven by etcd's JSON gateway.
//!
//! It speaks JSON over HTTP, as `reqwest` does already here: the crate `etcd-client` compiles
//! etcd's protocol files when it is built, and needs `protoc` for that.

mod driver;
mod store;
mod wire;

use std::num::NonZeroU32;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread::Builder;
use std::time::Duration;

use driver::Driver;
use store::Store;
pub use store::StoreError;
use tandem_member::Claims;

use super::{Channel, EndsWithMember, MemberCommand, MemberError, commands, duty};
use crate::ids::Life;
use crate::neli::elections::etcd::{Answer, Watched};
use crate::time::Skew;

/// The longest time that leaving takes: the store may not answer.
const LEAVE_MAX: Duration = Duration::from_secs(2);
/// The most inputs that wait for the member's thread; further ones wait for room.
const WAITING: usize = 64;

/// The configuration of one life of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdConfig {
    /// The member's name and incarnation.
    pub life: Life,
    /// The address of etcd: `http://host:port`.
    pub etcd: String,
    /// What the keys of the group begin with: `<prefix>/<partition>`.
    pub prefix: String,
    /// The number of partitions.
    pub width: NonZeroU32,
    /// The length of the lease that it asks for.
    pub lease: Duration,
    /// How often it renews the lease.
    pub keep_alive: Duration,
}

impl EtcdConfig {
    /// The arguments of `tandem` that start this member.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let span = |span: Duration| crate::time::Span(span).to_string();
        let options = [
            ("etcd", self.etcd.clone()),
            ("prefix", self.prefix.clone()),
            ("partitions", self.width.to_string()),
            ("lease", span(self.lease)),
            ("keep-alive", span(self.keep_alive)),
        ];
        let begin = ["member".to_owned(), self.life.to_string()];
        begin.into_iter().chain(options.map(|(name, value)| format!("--{name}={value}"))).collect()
    }
}

/// An input of the member's thread.
enum Input {
    /// With the reason, if the store refused or did not answer.
    Answer(u64, Answer, Option<String>),
    Watched(u64, Watched),
    Clock(Skew),
    Leave,
}

/// Runs the member until a command or a signal ends it.
///
/// # Errors
/// The client or a thread cannot be set up.
pub fn run(config: &EtcdConfig) -> Result<(), MemberError> {
    let claims = Arc::new(Claims::new(config.width));
    let channel = Channel::new(std::io::stdout(), config.life.clone(), Arc::clone(&claims));
    let channel = Arc::new(Mutex::new(channel?));
    let (_own, commands) = commands::listen()?;
    duty::start(Arc::clone(&claims), Arc::clone(&channel), None)?;
    let (inputs, received) = sync_channel(WAITING);
    let store = Store::new(config, inputs.clone()).map_err(MemberError::Store)?;
    let driver = Driver::new(config, store, claims, channel);
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
            Ok(MemberCommand::Leave) => {
                inputs.send(Input::Leave).ok();
                gone.recv_timeout(LEAVE_MAX).ok();
                return Ok(());
            }
            // The controller is gone, or wants no orderly leave: the lease expires.
            Ok(MemberCommand::Exit) | Err(_) => return Ok(()),
        }
    }
}
