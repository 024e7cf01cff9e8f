//! The configuration of a member; fixed for its life.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use tandem_facts::ids::{ConsumerGroup, Life, TopicName};
use tandem_facts::observation::Mode;
use tandem_neli::{Publishers, Pulse, Versions};

use crate::kafka::{Cluster, GroupProtocol, MembershipClient, Named};
use crate::{MeshSettings, usual};

/// The configuration of one life of one member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The member's name and incarnation; also its `client.id`.
    pub life: Life,
    /// The cluster of the member's group.
    pub cluster: Cluster,
    /// The ledger: an existing topic.
    pub topic: TopicName,
    /// The number of the ledger's partitions, `|M|`, which does not change while a group runs.
    pub width: NonZeroU32,
    /// `group.id`.
    pub consumer_group: ConsumerGroup,
    /// `S`: the broker reassigns the partitions of a member that has sent no heartbeat for this
    /// long.
    pub session: Duration,
    /// `h`: the heartbeat interval.
    pub heartbeat: Duration,
    /// The longest wait in one poll.
    pub wake: Duration,
    /// `tau`: the interval at which the member publishes a beacon on every partition, in the fast
    /// mode on those that it holds.
    pub beacon: Duration,
    /// Who does so on which partition. Members of one group may differ in it.
    pub publishers: Publishers,
    /// `T`, in the fast mode `Q`: how long a claim outlives the last message of its partition, and
    /// in the exclusive mode the last proof of membership. There it must be less than the session.
    pub threshold: Duration,
    /// In the exclusive mode: how long a claim outlives a revocation, so that the program can stop
    /// its work. The member does not let the group give the partition away meanwhile.
    pub hold: Duration,
    /// In the paper's exclusive mode, `G`: how long a new owner waits after its first message
    /// before it leads.
    pub grace: Duration,
    /// When a claim holds and what ends it.
    pub mode: Mode,
    /// What makes the member publish.
    pub pulse: Pulse,
    /// Whether the member gives up a partition as soon as another one states that it leads it, and
    /// waits for that when it leaves. Only in the non-exclusive mode, and only with
    /// [`MembershipClient::Own`].
    pub handover: bool,
    /// How members learn of a death at once, and stand in for the dead. Only for a member that
    /// hands over.
    pub mesh: Option<MeshSettings>,
    /// Where the program offers its service, as the others of the group learn from
    /// [`leader_of`](crate::Member::leader_of): any text, by custom `host:port`. At most 255 bytes.
    pub advertise: Option<String>,
    /// `partition.assignment.strategy`; with [`GroupProtocol::Consumer`] the brokers' assignor,
    /// `uniform` or `range`.
    pub assignor: String,
    /// The client that joins the group. The exclusive mode needs [`MembershipClient::Own`].
    pub membership: MembershipClient,
    /// The group protocol. [`GroupProtocol::Consumer`] needs [`MembershipClient::Own`]. Its session
    /// and its heartbeat are settings of the group on the brokers
    /// ([`set_group_terms`](crate::set_group_terms)); the session there must be no shorter than
    /// that here.
    pub protocol: GroupProtocol,
    /// `group.instance.id`: makes the member static. The group keeps its partitions for a session
    /// when it dies or leaves, and a later life with this id gets them without a rebalance, also
    /// from one that still runs, which then fails. Only with [`MembershipClient::Own`] and
    /// [`GroupProtocol::Classic`]; a static member proves nothing, so not in the exclusive mode.
    pub instance: Option<String>,
    /// The folder in which the members of this host keep the highest [fence](crate::Claim::fence)
    /// of each exclusive group; none if they keep none.
    pub fences: Option<PathBuf>,
    /// Which versions of the protocol the member works with, as its beacons say. A member that
    /// hears of one with which it does not work leaves, if that one was there before it.
    pub versions: Versions,
    /// What its beacons name, for the other members on its topic.
    pub named: Named,
}

impl Config {
    /// A member in the non-exclusive mode with a session of a second, a heartbeat and a beacon each
    /// 100 ms, and a claim that outlives the last message by three sessions. It hands over.
    #[must_use]
    pub fn new(
        life: Life,
        cluster: Cluster,
        topic: TopicName,
        width: NonZeroU32,
        consumer_group: ConsumerGroup,
    ) -> Self {
        let (mode, session) = (Mode::NonExclusive, usual::SESSION);
        let heartbeat = usual::heartbeat(session);
        let threshold = usual::threshold(mode, session);
        Self {
            life,
            cluster,
            topic,
            width,
            consumer_group,
            session,
            heartbeat,
            wake: usual::wake(heartbeat),
            beacon: usual::beacon(threshold),
            publishers: Publishers::All,
            threshold,
            hold: Duration::ZERO,
            grace: Duration::ZERO,
            mode,
            pulse: Pulse::Clock,
            handover: true,
            mesh: None,
            advertise: None,
            assignor: "roundrobin".to_owned(),
            membership: MembershipClient::Own,
            protocol: GroupProtocol::Classic,
            instance: None,
            fences: Some(usual::fences()),
            versions: Versions::OURS,
            named: Named::default(),
        }
    }
}
