//! How many messages an election costs, and a second at rest, where no message is lost.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use super::{Config, Elects, Member, Message, Peer};
use crate::elections::{allcall, bully, generation, quorum_lease, ring, zab};
use tandem_facts::time::Mono;

const SESSION: Duration = Duration::from_secs(1);
const HEARTBEAT: Duration = Duration::from_millis(100);

/// Members that all run, in virtual time.
pub(in crate::elections) struct World<E: Elects> {
    members: Vec<Member<E>>,
    now: Mono,
    /// All messages so far.
    sent: Vec<Message<E::Word>>,
}

impl<E: Elects> World<E> {
    pub(in crate::elections) fn new(count: u16) -> Self {
        Self::wide(count, NonZeroU32::MIN, None)
    }

    /// One of so many partitions. If there is a `first`, it alone has missed a leader at first.
    fn wide(members: u16, width: NonZeroU32, first: Option<u16>) -> Self {
        let now = Mono::ZERO + 10 * SESSION;
        let begin = |me| {
            let (session, heartbeat, seed) = (SESSION, HEARTBEAT, u64::from(me));
            let config = Config { me: Peer(me), members, width, session, heartbeat, seed };
            let late = first.is_some_and(|first| first != me);
            Member::new(now + if late { HEARTBEAT } else { Duration::ZERO }, config, None)
        };
        Self { members: (0..members).map(begin).collect(), now, sent: Vec::new() }
    }

    /// Lets so much time pass. Messages and disks take no time.
    pub(in crate::elections) fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.now = self.now + Duration::from_millis(1);
            let now = self.now;
            let mut ways: VecDeque<(Peer, Peer, Message<E::Word>)> = VecDeque::new();
            self.members.iter_mut().for_each(|member| member.handle_timeout(now));
            loop {
                for (from, member) in (0..).map(Peer).zip(&mut self.members) {
                    while let Some((number, _)) = member.poll_save() {
                        member.handle_saved(now, number);
                    }
                    while let Some((to, message)) = member.poll_message() {
                        ways.push_back((from, to, message));
                    }
                }
                let Some((from, to, message)) = ways.pop_front() else { break };
                self.sent.push(message);
                self.members[usize::from(to.0)].handle_message(now, from, message);
            }
        }
    }

    /// Whether a member claims now.
    pub(in crate::elections) fn is_claimed(&self) -> bool {
        let now = self.now;
        self.members.iter().any(|member| member.claims().any(|claim| now < claim.until))
    }

    /// The messages until one leads and all know it, and those of a second at rest.
    fn counts(mut self) -> (usize, usize) {
        self.elect();
        let elected = self.sent.len();
        self.pass(SESSION);
        let before = self.sent.len();
        self.pass(SESSION);
        (elected, self.sent.len() - before)
    }

    fn elect(&mut self) {
        let mut waits = 0;
        while !self.members.iter().all(Member::has_joined) {
            self.pass(Duration::from_millis(1));
            waits += 1;
            assert!(waits < 3_000, "none leads");
        }
    }
}

/// Of `others` other members: each is asked and answers.
#[test]
fn a_majority_costs_a_message_and_an_answer_for_each_other_member() {
    for count in [3, 5, 7] {
        let others = usize::from(count) - 1;
        let (elected, rest) = World::<quorum_lease::Instance>::new(count).counts();
        println!("quorum-lease of {count}: {elected} to elect, {rest} a second");
        assert_eq!((elected, rest), (2 * others, 20 * others));
        let (elected, rest) = World::<generation::Instance>::new(count).counts();
        println!("generation of {count}: {elected} to elect, {rest} a second");
        // A poll, a vote, and the first heartbeat.
        assert_eq!((elected, rest), (6 * others, 20 * others));
    }
}

/// All hold an election at once, the worst case: each asks all greater ones, which answer. The
/// greatest leads, lets all know, and each that asks it again.
#[test]
fn the_bully_costs_the_square_of_its_members() {
    for count in [3, 5, 7] {
        let (n, others) = (usize::from(count), usize::from(count) - 1);
        let (elected, rest) = World::<bully::Instance>::new(count).counts();
        println!("bully of {count}: {elected} to elect, {rest} a second");
        assert_eq!((elected, rest), (n * others + 2 * others, 10 * others));
    }
}

/// Each calls all others each heartbeat, while it is silent and at rest. The first claim is one
/// message more for each other.
#[test]
fn allcall_costs_the_square_of_its_members_each_heartbeat() {
    for count in [3, 5, 7] {
        let (n, others) = (usize::from(count), usize::from(count) - 1);
        let (elected, rest) = World::<allcall::Instance>::new(count).counts();
        println!("allcall of {count}: {elected} to elect, {rest} a second");
        assert_eq!((elected, rest), (10 * n * others + others, 10 * n * others));
    }
}

const WIDTH: NonZeroU32 = NonZeroU32::new(600).unwrap();

/// The hops that ids took on each partition until one came home.
fn hops_of_ids(mut world: World<ring::Instance>) -> Vec<usize> {
    world.elect();
    let mut hops = vec![0; usize::try_from(WIDTH.get()).unwrap()];
    for message in world.sent {
        match message.kind {
            ring::Kind::Election(_) => hops[usize::try_from(message.partition.0).unwrap()] += 1,
            ring::Kind::Elected(_)
            | ring::Kind::TookElection(_)
            | ring::Kind::TookElected(_)
            | ring::Kind::Left => {}
        }
    }
    hops
}

/// All hold an election at once. Chang and Roberts: of the orders of `n` ids, the worst costs
/// `n(n + 1)/2` hops, the best `2n - 1`, and the mean is `n` times the sum of `1/i`, for `i` up to
/// `n`: `O(n log n)`. Here the orders on 600 partitions; their mean is 8 % from that at most.
#[test]
fn ids_on_a_ring_go_as_far_as_the_literature_says() {
    for count in [3, 5, 7, 12] {
        let hops = hops_of_ids(World::wide(count, WIDTH, None));
        let n = usize::from(count);
        let (least, most) = (*hops.iter().min().unwrap(), *hops.iter().max().unwrap());
        let thousandths = hops.iter().sum::<usize>() * 1_000 / hops.len();
        let harmonic: usize = (1..=n).map(|it| n * 1_000_000 / it).sum::<usize>() / 1_000;
        println!("ring of {n}: {least} to {most}, mean {thousandths}/1000 of {harmonic}/1000");
        assert!(2 * n - 1 <= least && most <= n * (n + 1) / 2, "{least}, {most}");
        assert!(thousandths.abs_diff(harmonic) * 100 <= harmonic * 8, "{thousandths}, {harmonic}");
        // With few members all orders are among those of so many partitions.
        assert!(n > 5 || (least, most) == (2 * n - 1, n * (n + 1) / 2), "{least}, {most}");
    }
}

/// One holds an election: its message goes to the greatest, whose own goes round. With the news
/// these are `3n - 1` hops at most, where it comes after the greatest, and `2n` at least, where it
/// is the greatest.
#[test]
fn an_election_on_a_ring_of_one_initiator_takes_two_rounds_to_three() {
    for count in [3, 5, 7] {
        let n = usize::from(count);
        let hops = hops_of_ids(World::wide(count, WIDTH, Some(1)));
        let (least, most) = (*hops.iter().min().unwrap(), *hops.iter().max().unwrap());
        println!("ring of {n}, one initiator: {least} to {most} hops of ids, and {n} of the news");
        assert_eq!((least + n, most + n), (2 * n, 3 * n - 1));
    }
}

/// All hops are acknowledged: those of ids, of the news, and, ten times a second, those of a leader
/// that says so. On partition 0 the ids rise along the ring, its best order.
#[test]
fn each_hop_on_a_ring_is_two_messages() {
    for count in [3, 5, 7] {
        let n = usize::from(count);
        let (elected, rest) = World::<ring::Instance>::new(count).counts();
        println!("ring of {count}: {elected} to elect, {rest} a second");
        assert_eq!((elected, rest), (2 * (2 * n - 1 + n), 10 * 2 * n));
    }
}

/// Each of `n` but the first watches the one before it. Of the round itself: `NEW_LEADER`, `ACK`,
/// `COMMIT` and its answer, for each other member. At rest ten `COMMIT`s a second and their
/// answers, and, of each that does not watch the leader, ten questions and their answers.
#[test]
fn a_death_wakes_one_member_and_no_herd() {
    for count in [3, 5, 7] {
        let others = usize::from(count) - 1;
        let mut world = World::<zab::Instance>::new(count);
        world.elect();
        let of_round = |message: &&Message<zab::Kind>| match message.kind {
            zab::Kind::Watch | zab::Kind::Alive(_) => false,
            zab::Kind::NewLeader
            | zab::Kind::Ack
            | zab::Kind::Commit(_)
            | zab::Kind::Heard(_)
            | zab::Kind::Refused(_)
            | zab::Kind::Left => true,
        };
        let elected = world.sent.iter().filter(of_round).count();
        let (_, rest) = World::<zab::Instance>::new(count).counts();
        println!("zab of {count}: {elected} to elect, {rest} a second");
        assert_eq!((elected, rest), (4 * others, 20 * others + 20 * (others - 1)));
    }
}
