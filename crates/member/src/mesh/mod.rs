//! The mesh of one member: its core in `tandem_neli::mesh`, driven over TCP by one thread of its
//! own. That thread learns of a death when the kernel ends a link, and wakes the member's loop,
//! which stands in.
//!
//! On the loopback the kernel says which user holds the other end of a connection, and other users
//! are refused; elsewhere certificates at both ends say that they belong together ([`MeshTrust`]).
//! Both ends say which ledger, which group and which life they are.

mod frame;
mod mail;
#[cfg(test)]
mod scenes;
#[cfg(test)]
#[cfg(feature = "tls")]
mod scenes_tls;
mod session;
mod shell;
mod socket;
#[cfg(feature = "tls")]
mod tls;
mod trust;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use crate::Claims;
use crate::kafka::Bell;
use mail::{Mail, News};
use shell::Shell;
use tandem_facts::ids::{ConsumerGroup, TopicName};
use tandem_facts::time::Mono;
use tandem_neli::Statement;
use tandem_neli::mesh::{Mesh as Core, MeshConfig, Process};
use trust::Guard;
pub use trust::{MeshCertificates, MeshTrust};

/// The longest that a leaving member waits until it has said goodbye.
const GOODBYE: Duration = Duration::from_millis(100);

/// How members watch each other, and stand in for the dead ([`Config::mesh`](crate::Config::mesh)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshSettings {
    /// Where the member accepts connections of the others; port 0 is any free one. An address of
    /// the loopback with [`MeshTrust::SameUser`].
    pub listen: SocketAddr,
    /// Where the others connect to, if not there: through a translation of addresses, say.
    pub advertise: Option<SocketAddr>,
    /// Whom it takes for one of its group.
    pub trust: MeshTrust,
    /// The term of a stand-in: as long as the group may take to notice a death and to give the
    /// dead member's partitions to others.
    pub stand_in: Duration,
    /// A member that is silent for this long is stood in for, too; none: only a dead one.
    pub suspect: Option<Duration>,
}

/// The mesh as the member's loop sees it.
pub(crate) struct Mesh {
    mail: Arc<Mail>,
    me: Process,
    address: SocketAddr,
    own: Option<Statement>,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

impl Mesh {
    /// Listens, and starts the thread.
    ///
    /// # Errors
    /// The addresses do not fit, a certificate cannot be used, or the system refuses a socket or a
    /// thread.
    pub(crate) fn start(
        settings: &MeshSettings,
        (topic, group, me): (TopicName, ConsumerGroup, Process),
        bell: Arc<Bell>,
        claims: Arc<Claims>,
    ) -> io::Result<Self> {
        let guard = Guard::of(&settings.trust)?;
        let unsupported = |why| Err(io::Error::new(io::ErrorKind::Unsupported, why));
        let stated = settings.advertise.map_or(settings.listen.ip(), |it| it.ip());
        if let Some(far) = [settings.listen.ip(), stated].into_iter().find(|it| !guard.reaches(*it))
        {
            return unsupported(format!("{far} is not an address of the loopback"));
        }
        if stated.is_unspecified() {
            return unsupported(format!("no other member can connect to {stated}"));
        }
        let listener = TcpListener::bind(settings.listen)?;
        listener.set_nonblocking(true)?;
        let address = settings.advertise.map_or_else(|| listener.local_addr(), Ok)?;
        let mail = Arc::new(Mail::new(bell)?);
        let (stand_in, suspect) = (settings.stand_in, settings.suspect);
        let config = MeshConfig { group, me: me.clone(), stand_in, suspect };
        let now = Mono::now();
        if let Some(suspect) = suspect {
            claims.expect_turns(now, suspect);
        }
        let core = Core::new(now, config.clone());
        let shell = Shell::new(core, config, topic, (listener, guard), Arc::clone(&mail), claims);
        let (ends, ended) = sync_channel(1);
        let _ends_with_its_letter =
            std::thread::Builder::new().name("mesh".to_owned()).spawn(move || {
                shell.run();
                drop(ends);
            })?;
        Ok(Self { mail, me, address, own: None, ended })
    }

    /// Where the others connect to, as `host:port`.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// What the member states about itself now.
    pub(crate) fn own(&mut self, statement: Option<Statement>) {
        if let Some(own) = statement
            && self.own.as_ref() != Some(&own)
        {
            self.own = Some(own.clone());
            self.mail.post_own(own);
        }
    }

    /// What another member stated on the ledger.
    pub(crate) fn ledger(&self, statement: Statement) {
        if Process::of(&statement) != self.me {
            self.mail.post_ledger(statement);
        }
    }

    /// What others stated on their links, and the orders, since the last call.
    pub(crate) fn news(&self) -> News {
        self.mail.news()
    }

    /// The member has left and claims nothing: it says goodbye.
    pub(crate) fn leave(self) {
        self.mail.post_leave();
        // It ends with the thread.
        self.ended.recv_timeout(GOODBYE).ok();
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        self.mail.post_leave();
    }
}
