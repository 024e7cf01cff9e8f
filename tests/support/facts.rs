//! Builds facts for tests: instants in milliseconds, with a sequence number per author.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::time::Duration;

use tandem::chaos::Kind;
use tandem::ids::{FaultId, GroupName, Life, PartitionId, Term, TrialNumber};
use tandem::observation::{
    Ending, Fact, FaultClass, Horizon, MemberEvent, Outcome, RunEvent, What,
};
use tandem::roles::{Count, Roles};
use tandem::time::{Mono, Span};
use tandem::topology::{
    Access, Address, Allowance, Assignor, Beacons, Bound, Bounds, Edges, Foreign, MembershipClient,
    Mode, Objective, OnDeath, Pace, Plan, PlannedCluster, PlannedGroup, Range,
};
use tandem::verdict::{Brief, Limits};

/// So many milliseconds after the boot.
pub fn at(ms: u64) -> Mono {
    Mono(ms * 1_000_000)
}

/// `p1-1.2`.
pub fn life(text: &str) -> Life {
    Life::try_from(text.to_owned()).unwrap()
}

/// `1.k`.
pub fn fault(text: &str) -> FaultId {
    FaultId::try_from(text.to_owned()).unwrap()
}

/// The class of the fault with this word.
pub fn class(kind: &str) -> FaultClass {
    let word = Kind::ALL.iter().map(|known| known.word()).find(|word| word.name == kind);
    word.map_or(FaultClass::Other, |word| word.class)
}

/// A fault of this word failed.
pub fn failed(id: &str, kind: &str, why: &str) -> RunEvent {
    let (fault, class) = (fault(id), class(kind));
    RunEvent::FaultFailed { fault, kind: kind.to_owned(), class, why: why.to_owned() }
}

/// A name of any kind.
pub fn name<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

/// The pace of all groups.
fn pace() -> Pace {
    Pace {
        mode: Mode::NonExclusive,
        session: Span::ms(1_000),
        heartbeat: Span::ms(100),
        wake: Span::ms(50),
        beacon: Span::ms(100),
        threshold: Span::ms(3_000),
        hold: Span::ms(0),
        clock_error: Span::ms(0),
        grace: Span::ms(0),
        assignor: Assignor::Roundrobin,
        membership: MembershipClient::Library,
        protocol: tandem::topology::GroupProtocol::Classic,
        assignment: tandem::time::Span::default(),
        handover: false,
        beacons: Beacons::All,
        on_death: OnDeath::default(),
        suspect: None,
        static_members: false,
        starts_within: Span::default(),
        stops_before: Span::default(),
    }
}

/// A plan of groups, each with its partitions and members.
pub fn plan(roles: u32, groups: &[(&str, u32, u32)]) -> Plan {
    let range = |low, high| Range::new(Duration::from_millis(low), Duration::from_millis(high));
    let bound = |low, high, overlap| Bound { gap: range(low, high), overlap: range(0, overlap) };
    let bounds = Bounds {
        kill: bound(850, 1_300, 3_000),
        leave: bound(0, 300, 3_000),
        isolation: bound(0, 0, 3_000),
        silence: None,
        pause: bound(850, 1_300, 3_350),
        restart: bound(0, 0, 3_000),
        link: None,
        links_and_brokers: None,
        broker: bound(0, 1_300, 3_250),
    };
    let pace = pace();
    let group = |&(group, partitions, members): &(&str, u32, u32)| {
        let width = NonZeroU32::new(partitions).unwrap();
        let planned = PlannedGroup {
            launch: tandem::topology::Launch::default(),
            chaos: tandem::topology::Chaos::default(),
            duty: None,
            mesh: None,
            foreign: Foreign::default(),
            cluster: name("a"),
            topic: name(group),
            partitions: width,
            replication: None,
            min_insync_replicas: None,
            retention: Span::ms(60_000),
            consumer_group: name(group),
            host: None,
            members: (1..=members).map(|member| name(&format!("{group}-{member}"))).collect(),
            pace: pace.clone(),
            restart_after: Span::ms(2_000),
            beacons_per_s: 10.0,
            bounds: bounds.clone(),
        };
        (name::<GroupName>(group), planned)
    };
    Plan {
        topology: name("pricing"),
        roles: Roles::Counted(Count { count: roles, prefix: name("role-") }),
        slots: None,
        clusters: [(name("a"), embedded())].into(),
        groups: groups.iter().map(group).collect(),
        edges: Edges::Direct,
        objective: Objective::default(),
        disjoint: BTreeSet::new(),
        limits: Allowance::default(),
        order_key: None,
        warnings: Vec::new(),
    }
}

/// An embedded cluster.
fn embedded() -> PlannedCluster {
    PlannedCluster {
        address: Address::Embedded,
        host: None,
        failover: None,
        start_up: Span::ms(500),
        members: Access::default(),
        controller: None,
    }
}

/// The same, with the last group on a cluster of its own, `b`.
pub fn plan_apart(roles: u32, groups: &[(&str, u32, u32)]) -> Plan {
    let mut plan = plan(roles, groups);
    let apart = plan.clusters["a"].clone();
    plan.clusters.insert(name("b"), apart);
    let last = plan.groups.values_mut().last();
    last.into_iter().for_each(|group| group.cluster = name("b"));
    plan
}

/// The same, where the last group may have members of which nothing is known.
pub fn plan_with_others(roles: u32, groups: &[(&str, u32, u32)]) -> Plan {
    let mut plan = plan_apart(roles, groups);
    let last = plan.groups.values_mut().last();
    last.into_iter().for_each(|group| group.foreign = Foreign::Allow);
    plan
}

/// What is to be judged on such a plan.
pub fn brief(plan: &Plan, trials: u32, assertions: &[&str]) -> Brief {
    let limits = Limits { gap: Some(Span::ms(1_300)), overlap: Some(Span::ms(3_000)) };
    Brief {
        experiment: "kill-leader".to_owned(),
        trials,
        until: None,
        disturbed: None,
        assertions: assertions.iter().map(|text| text.parse().unwrap()).collect(),
        objective: plan.objective,
        limits: plan.groups.keys().map(|group| (group.clone(), limits)).collect(),
        joint: Limits { gap: Some(Span::ms(0)), overlap: Some(Span::ms(3_000)) },
    }
}

/// A journal's facts, written one after another.
#[derive(Debug, Clone, Default)]
pub struct Story {
    pub facts: Vec<Fact>,
    counts: BTreeMap<Option<Life>, u64>,
}

impl Story {
    fn put(&mut self, author: Option<Life>, about: Option<Life>, ms: u64, what: What) {
        let seq = self.counts.entry(author).or_default();
        *seq += 1;
        self.facts.push(Fact { t: at(ms), seq: *seq, life: about, what });
    }

    /// A fact of the controller, about no member.
    pub fn run(&mut self, ms: u64, event: RunEvent) -> &mut Self {
        self.put(None, None, ms, What::Run(event));
        self
    }

    /// The controller says it, of a life.
    pub fn of(&mut self, who: &str, ms: u64, event: RunEvent) -> &mut Self {
        self.put(None, Some(life(who)), ms, What::Run(event));
        self
    }

    /// A member says it, of itself.
    pub fn says(&mut self, who: &str, ms: u64, event: MemberEvent) -> &mut Self {
        self.put(Some(life(who)), Some(life(who)), ms, What::Member(event));
        self
    }

    /// A fact of this author is lost.
    pub fn lose(&mut self, author: Option<&str>) -> &mut Self {
        *self.counts.entry(author.map(life)).or_default() += 1;
        self
    }

    pub fn started(&mut self, who: &str, ms: u64) -> &mut Self {
        self.of(who, ms, RunEvent::Started { pid: 1, external: None })
    }

    pub fn died(&mut self, who: &str, ms: u64) -> &mut Self {
        self.of(who, ms, RunEvent::Died { signal: Some(9), status: None })
    }

    pub fn asked(&mut self, who: &str, ms: u64, id: &str, kind: &str) -> &mut Self {
        self.of(
            who,
            ms,
            RunEvent::FaultAsked {
                fault: fault(id),
                kind: kind.to_owned(),
                class: class(kind),
                broker: None,
                cluster: None,
            },
        )
    }

    /// A fault strikes a broker of a cluster.
    pub fn asked_broker(&mut self, ms: u64, id: &str, cluster: &str) -> &mut Self {
        let (fault, kind, class) = (fault(id), "broker".to_owned(), FaultClass::Brokers);
        let (broker, cluster) = (Some("127.0.0.1:9092".to_owned()), Some(name(cluster)));
        self.run(ms, RunEvent::FaultAsked { fault, kind, class, broker, cluster })
    }

    pub fn began(&mut self, ms: u64, trial: u32) -> &mut Self {
        self.run(ms, RunEvent::TrialBegan { trial: TrialNumber(trial) })
    }

    pub fn ended(&mut self, ms: u64, trial: u32) -> &mut Self {
        self.run(ms, RunEvent::TrialEnded { trial: TrialNumber(trial), recovered: Some(true) })
    }

    pub fn settled(&mut self, group: &str, ms: u64) -> &mut Self {
        self.run(ms, RunEvent::Settled { group: name(group) })
    }

    pub fn completed(&mut self, ms: u64) -> &mut Self {
        self.run(ms, RunEvent::Ended { how: Outcome::Completed, why: None })
    }

    pub fn assigned(&mut self, who: &str, ms: u64, partitions: &[u32]) -> &mut Self {
        let partitions = partitions.iter().copied().map(PartitionId).collect();
        self.says(who, ms, MemberEvent::Assigned { generation: None, member_id: None, partitions })
    }

    pub fn claimed(&mut self, who: &str, partition: u32, term: u32, span: [u64; 2]) -> &mut Self {
        let (partition, term) = (PartitionId(partition), Term(term));
        let [from, until] = span.map(at);
        let (stands_in_for, fence) = (None, None);
        let claimed = MemberEvent::Claimed { partition, term, from, until, stands_in_for, fence };
        self.says(who, span[0], claimed)
    }

    /// All of a member's claims: partition, term and horizon.
    pub fn renewed(&mut self, who: &str, ms: u64, claims: &[(u32, u32, u64)]) -> &mut Self {
        let claim = |&(partition, term, until): &(u32, u32, u64)| Horizon {
            partition: PartitionId(partition),
            term: Term(term),
            until: at(until),
        };
        self.says(who, ms, MemberEvent::Renewed { claims: claims.iter().map(claim).collect() })
    }

    /// A claim ended at `end`, reported at `ms`.
    pub fn lapsed(&mut self, who: &str, ms: u64, of: (u32, u32), end: u64) -> &mut Self {
        let (partition, term) = (PartitionId(of.0), Term(of.1));
        self.says(
            who,
            ms,
            MemberEvent::Lapsed { partition, term, at: at(end), why: Ending::Silence },
        )
    }

    /// Ticks from `span[0]` to `span[1]`, reported every 50 ms.
    pub fn ticks(&mut self, who: &str, partitions: &[u32], span: [u64; 2]) -> &mut Self {
        let partitions: Vec<_> = partitions.iter().copied().map(PartitionId).collect();
        let from = at(span[0]);
        let mut sent = span[0];
        loop {
            let (partitions, until) = (partitions.clone(), at(sent));
            self.says(who, sent, MemberEvent::Ticks { partitions, from, until });
            if sent >= span[1] {
                return self;
            }
            sent = (sent + 50).min(span[1]);
        }
    }

    /// Claims and serves one partition throughout, renewed each 100 ms for 3 s ahead.
    pub fn serves(&mut self, who: &str, partition: u32, term: u32, span: [u64; 2]) -> &mut Self {
        let [from, until] = span;
        self.claimed(who, partition, term, [from, from + 3_000]);
        let mut now = from;
        while now < until {
            let next = (now + 100).min(until);
            self.ticks(who, &[partition], [now, next]);
            self.renewed(who, next, &[(partition, term, next + 3_000)]);
            now = next;
        }
        self
    }
}
