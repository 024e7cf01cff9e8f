//! `tandem hold`: a program of the user holds a role, in any language.
//!
//! ```text
//!  group of members <--- Member (its own thread) --- claims ---> wrapper ---> keeper ---> command
//!                                                         \----> sidecar <--- HTTP --- program
//! ```
//!
//! The *wrapper* runs a command while the member leads a role. Its *keeper*, a process of its own,
//! ends the command before the claim ends, also if `tandem hold` hangs or is killed. The *sidecar*
//! answers a program that asks who leads. In a group that takes orders of experiments, an *edge* is
//! between the member and its brokers.

mod backoff;
mod cgroup;
mod course;
mod deadlines;
mod departure;
mod duties;
mod facts;
mod family;
mod keeper;
mod keeping;
mod lateness;
mod name_lock;
mod own_edge;
mod place;
mod protocol;
pub mod serve;
mod starter;
mod status;
mod until_left;
mod work;
mod wrapper;

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub use cgroup::{Cgroup, NoCgroup};
pub use course::OnExit;
pub use deadlines::Stopping;
pub use departure::Departs;
pub use duties::Duties;
pub use facts::Facts;
pub use keeper::keep;
pub use name_lock::{NameLock, NameLockError};
pub use own_edge::{NoEdge, OwnEdge};
pub use place::{address_of, cluster_of, ensure_ledger, is_embedded, no_longer_up};
pub use protocol::CommandEnd;
pub use starter::become_command;
pub use wrapper::{Happening, Wrapped, Wrapper};

use crate::ids::{ClusterName, GroupName, Life, RoleIndex, RoleName, TopicName, TopologyName};
use crate::kafka::KafkaError;
use crate::roles::Roles;
use crate::secret::SecretError;
use crate::status_socket::StatusError;
use crate::time::Span;
use crate::topology::{Plan, Slots};
use status::Status;
use tandem_member::{Claims, Config, JoinError, Member};

/// How often the state of the member is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Why a program cannot hold a role.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// No `tandem up` keeps the cluster up.
    #[error(
        "cluster {1} of {0} is embedded, and no `tandem up` of yours keeps {0} up on this machine: \
         start one, or give the cluster a `bootstrap`"
    )]
    NotUp(TopologyName, ClusterName),
    /// The `tandem up` that kept the cluster up has ended, and its broker with it.
    #[error(
        "the `tandem up` that kept {0} up has ended, and cluster {1} with it: start both again"
    )]
    NoLongerUp(TopologyName, ClusterName),
    /// Several do.
    #[error("several `tandem up` of yours keep {0} up; which one is meant is unknown")]
    Several(TopologyName),
    /// A `tandem up` does not answer.
    #[error("a `tandem up` of yours cannot be asked for its brokers")]
    Status(#[from] StatusError),
    /// The cluster does not answer, or refuses.
    #[error(transparent)]
    Kafka(#[from] KafkaError),
    /// The ledger has another width than is planned.
    #[error(
        "topic {topic} of group {group} has {found} partitions and {wanted} are planned: \
         set `partitions: {found}`, or name another topic"
    )]
    Width {
        /// The group.
        group: GroupName,
        /// Its topic.
        topic: TopicName,
        /// The number of partitions.
        found: u32,
        /// The planned number.
        wanted: NonZeroU32,
    },
    /// The name of the member cannot be taken.
    #[error(transparent)]
    Name(#[from] NameLockError),
    /// The member did not join.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// The system refused a process, a thread or a socket.
    #[error("{what}")]
    System {
        /// What could not be done.
        what: &'static str,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// Other machines reach the sidecar, and nothing says who may change what.
    #[error(
        "a sidecar at {0} takes a --token-file: other machines reach it, and the kernel does not \
         know their users"
    )]
    Open(SocketAddr),
    /// The file of the token is empty.
    #[error("the token file {} is empty", .0.display())]
    NoToken(PathBuf),
    /// The token cannot be read.
    #[error("the token cannot be read")]
    Token(#[from] SecretError),
    /// The command does not end, and its claim does.
    #[error(
        "the command does not end, not even by SIGKILL; this process ends without leaving its \
         group, so that the role moves a session later"
    )]
    Outlived,
    /// The command ended, so long after its member had halted.
    #[error(
        "the command ended late, {0} after its member had halted; this process ends without \
         leaving its group, so that the role moves a session later"
    )]
    Late(Span),
}

/// A member, for a program of the user.
#[derive(Debug)]
pub struct Holder {
    /// The topology.
    pub topology: TopologyName,
    /// The group.
    pub group: GroupName,
    /// This life of the member.
    pub life: Life,
    /// All roles of the topology.
    pub roles: Roles,
    /// Which role each key belongs to.
    pub slots: Option<Slots>,
    /// Whether claims are promises.
    pub exclusive: bool,
    /// The member.
    pub member: Member,
    status: Arc<Status>,
    well: AtomicBool,
    /// Whether a command has to end before the member may leave the group: in the exclusive mode.
    works: bool,
}

impl Holder {
    /// The role of a key, and its name.
    #[must_use]
    pub fn role_of(&self, key: &str) -> Option<(RoleIndex, RoleName)> {
        let role = self.slots?.role_of(key.as_bytes(), &self.roles);
        Some((role, self.roles.name(role)?))
    }

    /// A member that joins, and publishes its claims to `claims`. With `works`, in the exclusive
    /// mode, a [`Wrapper`] passes its health on. What happens to it goes to `facts` as well.
    ///
    /// # Errors
    /// The client refuses its configuration, or the system a thread.
    pub fn join(
        (topology, group): (TopologyName, GroupName),
        plan: &Plan,
        config: &Config,
        works: bool,
        (claims, facts): (Arc<Claims>, Option<Facts>),
    ) -> Result<Self, JoinError> {
        let status = Arc::new(Status::new());
        let noted = Arc::clone(&status);
        let member = Member::join_with(claims, config, move |at, event| {
            tracing::trace!(?at, ?event, "The member reports an event.");
            noted.note(&event);
            if let Some(facts) = &facts {
                facts.record(at, event);
            }
        })?;
        Ok(Self {
            topology,
            group,
            life: config.life.clone(),
            roles: plan.roles.clone(),
            slots: plan.slots,
            exclusive: config.mode.is_exclusive(),
            member,
            status,
            well: AtomicBool::new(true),
            works: works && config.mode.is_exclusive(),
        })
    }

    /// The role with this name.
    #[must_use]
    pub fn role(&self, name: &str) -> Option<(RoleIndex, RoleName)> {
        let name: RoleName = name.parse().ok()?;
        self.roles.find(&name).map(|role| (role, name))
    }

    /// Says whether the program can do the work of a leader. If it cannot, the member leaves its
    /// group: in the exclusive mode once the command has ended, in the others before that.
    pub fn health(&self, well: bool) {
        self.well.store(well, Ordering::SeqCst);
        if !self.works {
            self.member.health(well);
        }
    }

    /// Waits until the member has left a group with which it does not work.
    pub async fn refused(&self) -> HoldError {
        loop {
            if let Some(misfit) = self.status.refused.get() {
                return HoldError::Join(JoinError::from(misfit.clone()));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// The id by which its group knows the member, while it does.
    fn member_id(&self) -> Option<String> {
        self.status.member_id()
    }

    /// Whether the program was well when it last said so.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.well.load(Ordering::SeqCst)
    }
}
