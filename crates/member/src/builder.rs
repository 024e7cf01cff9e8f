//! Builds the configuration of a member from names, with defaults that fit each other.

mod mesh;

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use tandem_facts::ids::{Incarnation, Life, RoleName};
use tandem_facts::keys::Slots;
use tandem_facts::observation::Mode;
use tandem_facts::roles::Roles;
use tandem_facts::time::{Mono, Span};
use tandem_neli::{Pulse, Versions};

use crate::kafka::{Access, Admin, Cluster, Found, MembershipClient, TopicSettings};
use crate::{Config, Event, JoinError, Member, usual};

/// How long a new ledger keeps messages, at least. A beacon is useless after the threshold.
const RETENTION: Duration = Duration::from_secs(60);

/// A member that is about to join. [`Member::builder`] begins one.
#[derive(Debug, Clone)]
pub struct Builder {
    bootstrap: String,
    group: String,
    access: Access,
    ledger: Option<String>,
    created: Option<NonZeroU32>,
    name: Option<String>,
    incarnation: u32,
    roles: Vec<String>,
    slots: Option<Slots>,
    mode: Mode,
    pulse: Pulse,
    session: Duration,
    threshold: Option<Duration>,
    hold: Option<Duration>,
    advertise: Option<String>,
    mesh: mesh::Wanted,
    fences: Option<PathBuf>,
    versions: Versions,
}

impl Builder {
    pub(crate) fn new(bootstrap: String, group: String) -> Self {
        Self {
            bootstrap,
            group,
            access: Access::default(),
            ledger: None,
            created: None,
            name: None,
            incarnation: 1,
            roles: Vec::new(),
            slots: None,
            mode: Mode::NonExclusive,
            pulse: Pulse::Clock,
            session: usual::SESSION,
            threshold: None,
            hold: None,
            advertise: None,
            mesh: mesh::Wanted::default(),
            fences: None,
            versions: Versions::OURS,
        }
    }

    /// The ledger, a topic that serves this group alone; by default it is named like the group.
    #[must_use]
    pub fn ledger(self, topic: impl Into<String>) -> Self {
        Self { ledger: Some(topic.into()), ..self }
    }

    /// The versions of the protocol that the member works with, for tests of an upgrade; those of
    /// this crate by default.
    #[must_use]
    pub fn versions(self, versions: Versions) -> Self {
        Self { versions, ..self }
    }

    /// Creates the ledger with so many partitions if it does not exist. Without this the member
    /// joins only a ledger that exists. `|M|` is read once, at the start, and never changes while
    /// the group runs.
    #[must_use]
    pub fn create_ledger(self, partitions: NonZeroU32) -> Self {
        Self { created: Some(partitions), ..self }
    }

    /// The roles of the group, by name, in the same order for all of its members: role `j` is on
    /// partition `j mod |M|`.
    #[must_use]
    pub fn roles<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        Self { roles: names.into_iter().map(Into::into).collect(), ..self }
    }

    /// Which role each key belongs to, the same for all members of the group: see
    /// [`Member::leads_key`].
    ///
    /// ```
    /// # use std::num::NonZeroU32;
    /// # use std::time::Duration;
    /// # use tandem_broker::broker::{Broker, BrokerSettings};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let broker = Broker::bind("127.0.0.1:0".parse()?, BrokerSettings::default()).await?;
    /// # let bootstrap = broker.address().to_string();
    /// # let mut serving = tokio::task::JoinSet::new();
    /// # serving.spawn(broker.serve(tokio_util::sync::CancellationToken::new()));
    /// use tandem_member::{Member, SlotHash, Slots};
    ///
    /// let member = Member::builder(bootstrap, "accounts")
    ///     .create_ledger(NonZeroU32::new(4).ok_or("no partitions")?)
    ///     .slots(Slots { count: 16_384, hash: SlotHash::Crc16 })
    ///     .join()?;
    /// let role = member.role_of("{user1000}.cart").ok_or("no slots")?;
    /// assert_eq!(member.role_of("{user1000}.orders"), Some(role));
    /// member.lead(role).begins().await;
    /// assert!(member.leads_key("{user1000}.cart"));
    /// # member.leave();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn slots(self, slots: Slots) -> Self {
        Self { slots: Some(slots), ..self }
    }

    /// Where the program offers its service, as other members learn from
    /// [`leader_of`](crate::Member::leader_of).
    #[must_use]
    pub fn advertise(self, address: impl Into<String>) -> Self {
        Self { advertise: Some(address.into()), ..self }
    }

    /// The member's name, unique in the group; by default the host's name and the process id.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..self }
    }

    /// Which life of the member this is, 1 by default; a restart under the same name is a new one.
    #[must_use]
    pub fn incarnation(self, incarnation: u32) -> Self {
        Self { incarnation, ..self }
    }

    /// `S`: the broker reassigns the partitions of a member that is silent for this long. A second
    /// by default; Apache Kafka allows less than six only if its
    /// `group.min.session.timeout.ms` does.
    #[must_use]
    pub fn session(self, session: Duration) -> Self {
        Self { session, ..self }
    }

    /// `T`: how long a claim outlives the last message of its partition. By default three sessions.
    /// In the exclusive mode also how long it outlives the last proof, and four fifths of a session
    /// by default.
    #[must_use]
    pub fn threshold(self, threshold: Duration) -> Self {
        Self { threshold: Some(threshold), ..self }
    }

    /// No two members of the group ever lead one role, and [`Claim::until`](crate::Claim::until) is
    /// a promise, never further away than `hold`. Each rebalance takes so much longer.
    #[must_use]
    pub fn exclusive(self, hold: Duration) -> Self {
        Self { mode: Mode::Exclusive, hold: Some(hold), ..self }
    }

    /// The folder in which the members of this host keep the highest [`fence`](crate::Claim::fence)
    /// of each exclusive group, also of those that they have read of other hosts: by default
    /// `tandem/fences` in `$XDG_STATE_HOME`, or in `~/.local/state`. It must outlive the host's
    /// programs: in a container it is in a volume.
    #[must_use]
    pub fn fences(self, folder: impl Into<PathBuf>) -> Self {
        Self { fences: Some(folder.into()), ..self }
    }

    /// One leader for all roles, which loses its claim when it hears no message of its own for half
    /// a session, or for [`threshold`](Self::threshold). The ledger has one partition. With
    /// [`Pulse::Program`] it publishes only while the program calls [`Member::pulse`].
    #[must_use]
    pub fn fast(self, pulse: Pulse) -> Self {
        Self { mode: Mode::Fast, pulse, ..self }
    }

    /// A property of the Kafka client, under librdkafka's name.
    #[must_use]
    pub fn property(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.access.properties.insert(key.into(), value.into());
        self
    }

    /// Secrets and properties of the Kafka client; they replace those given before.
    #[must_use]
    pub fn access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Joins the group: asks the cluster for the ledger's width, which takes up to 20 s, starts the
    /// member, and returns before the group answers.
    ///
    /// # Errors
    /// A name is not legal, settings contradict each other, the cluster does not answer, the ledger
    /// does not exist, the members that are there are of a version with which this one does not
    /// work, or the client refuses its configuration.
    pub fn join(self) -> Result<Member, JoinError> {
        self.join_with(|_, _| {})
    }

    /// The same, with a function that gets each event and its instant. It must not block.
    ///
    /// # Errors
    /// As [`join`](Self::join).
    pub fn join_with(
        self,
        on_event: impl FnMut(Mono, Event) + Send + 'static,
    ) -> Result<Member, JoinError> {
        let names = self.roles.iter().map(|name| name.parse());
        let roles = Roles::Named(names.collect::<Result<Vec<RoleName>, _>>()?);
        let config = self.config()?;
        Member::fits(&config)?;
        Ok(Member::join(&config, on_event)?.with_roles(roles).with_slots(self.slots))
    }

    /// The configuration that [`join`](Self::join) uses. Asks the cluster, and may create the
    /// ledger.
    ///
    /// # Errors
    /// As [`join`](Self::join).
    pub fn config(&self) -> Result<Config, JoinError> {
        let threshold = self.fitting_threshold()?;
        let heartbeat = usual::heartbeat(self.session);
        let mesh = self.links(heartbeat)?;
        let name = self.name.clone().unwrap_or_else(default_name);
        let life = Life { member: name.parse()?, incarnation: Incarnation(self.incarnation) };
        let cluster = Cluster { bootstrap: self.bootstrap.clone(), access: self.access.clone() };
        let topic = self.ledger.as_deref().unwrap_or(&self.group).parse()?;
        let width = self.width(&cluster, &topic)?;
        if self.mode == Mode::Fast && width != NonZeroU32::MIN {
            return Err(JoinError::Settings("the ledger of a fast group has one partition"));
        }
        let defaults = Config::new(life, cluster, topic, width, self.group.parse()?);
        Ok(Config {
            session: self.session,
            heartbeat,
            wake: usual::wake(heartbeat),
            beacon: usual::beacon(threshold),
            threshold,
            hold: self.hold.unwrap_or_default(),
            mode: self.mode,
            pulse: self.pulse,
            mesh,
            advertise: self.advertise.clone(),
            versions: self.versions,
            fences: self.fences.clone().or(defaults.fences),
            membership: match self.mode {
                Mode::Exclusive => MembershipClient::Own,
                Mode::NonExclusive | Mode::Fast | Mode::ExclusivePaper => defaults.membership,
            },
            ..defaults
        })
    }

    /// The threshold, if it fits the mode.
    fn fitting_threshold(&self) -> Result<Duration, JoinError> {
        let threshold = self.threshold.unwrap_or_else(|| usual::threshold(self.mode, self.session));
        let most = usual::exclusive_threshold_most(self.session);
        let hold = self.hold.unwrap_or_default();
        match self.mode {
            Mode::NonExclusive if threshold <= self.session => Err(JoinError::Settings(
                "the threshold must be longer than the session: a role would have no leader \
                 whenever the group rebalances",
            )),
            Mode::Exclusive if threshold > most => Err(JoinError::Settings(
                "in the exclusive mode the threshold must be at most 99 % of the session",
            )),
            Mode::Exclusive if hold > threshold => {
                Err(JoinError::Settings("the hold must be at most the threshold"))
            }
            Mode::NonExclusive | Mode::Fast | Mode::Exclusive | Mode::ExclusivePaper => {
                Ok(threshold)
            }
        }
    }

    /// The number of partitions of the ledger, which is created first if that is wanted.
    fn width(
        &self,
        cluster: &Cluster,
        topic: &tandem_facts::ids::TopicName,
    ) -> Result<NonZeroU32, JoinError> {
        let admin = Admin::new(cluster)?;
        admin.enter()?;
        let settings = self.created.map(|width| TopicSettings {
            width,
            replication: None,
            min_insync_replicas: None,
            retention: Span(RETENTION.max(self.session * 4)),
        });
        if let (Found::Absent, Some(settings)) = (admin.topic(topic)?, settings) {
            // A runtime of its own, on a thread of its own: the caller may have one already.
            let made = thread::scope(|scope| {
                let thread = scope.spawn(|| create(&admin, topic, settings));
                thread.join()
            });
            // It panics only where the allocator does.
            made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        }
        let missing =
            || JoinError::NoLedger { topic: topic.clone(), cluster: self.bootstrap.clone() };
        match admin.topic(topic)? {
            Found::Absent => Err(missing()),
            Found::Width(width) => NonZeroU32::new(width).ok_or_else(missing),
        }
    }
}

/// Creates the ledger, unless another member was faster.
fn create(
    admin: &Admin,
    topic: &tandem_facts::ids::TopicName,
    settings: TopicSettings,
) -> Result<(), JoinError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(JoinError::Thread)?;
    runtime.block_on(admin.create(topic, settings)).map(|_| ()).map_err(JoinError::from)
}

/// The host's name and the process id.
fn default_name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let legal = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let host: String = host.trim().chars().filter(legal).take(80).collect();
    let host = if host.is_empty() { "member" } else { &host };
    format!("{host}-{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn threshold(builder: &Builder) -> Result<Duration, String> {
        builder.fitting_threshold().map_err(|error| error.to_string())
    }

    pub(super) fn new() -> Builder {
        Builder::new("h:1".to_owned(), "g".to_owned())
    }

    #[test]
    fn each_mode_has_a_threshold_that_fits() {
        assert_eq!(threshold(&new()), Ok(3 * S));
        assert_eq!(threshold(&new().fast(Pulse::Clock)), Ok(S / 2));
        assert_eq!(threshold(&new().exclusive(S / 5)), Ok(S * 4 / 5));
        assert_eq!(threshold(&new().exclusive(S / 5).session(3 * S)), Ok(S * 12 / 5));
    }

    #[test]
    fn settings_that_cannot_keep_a_promise_are_refused() {
        let refused = |builder: &Builder| threshold(builder).unwrap_err();
        assert!(refused(&new().threshold(S)).contains("longer than the session"));
        assert!(refused(&new().exclusive(S / 5).threshold(S)).contains("99 %"));
        assert!(refused(&new().exclusive(S)).contains("hold"));
    }

    #[test]
    fn an_illegal_name_is_named() {
        let error = new().name("a b").config().unwrap_err().to_string();
        assert_eq!(error, "a member name consists of letters, digits, '.', '_' and '-', not ' '");
        assert!(default_name().parse::<tandem_facts::ids::MemberId>().is_ok());
    }
}
