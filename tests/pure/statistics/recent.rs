//! A trial judged from the facts just before it and in it is judged as from all facts.

use std::time::Duration;

use proptest::prelude::*;
use tandem::ids::TrialNumber;
use tandem::observation::{Fact, MemberEvent, RunEvent};
use tandem::timeline::{Recent, Timeline};
use tandem::topology::Plan;
use tandem::verdict::joint_gaps_found;

use support::cases::cases;
use support::facts::{Story, at, failed, fault, plan};

/// What a trial shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    Nothing,
    Gap,
    /// For a while the leader is unknown.
    Unknown,
    /// A fact of the member that leads is lost.
    Lost,
    /// Its fault failed, and there was a gap.
    FailedWithGap,
}

/// Each takes so long, in milliseconds.
const TRIAL: u64 = 10_000;

/// Two groups of one role: in every trial `p1` has a gap of 2 s after a kill; `p2-1` goes on with
/// its claim from trial to trial, but where there is to be a joint gap, of 1 s.
pub(crate) struct Series {
    pub(crate) story: Story,
    /// How many facts there were after each trial.
    ends: Vec<usize>,
    term: u32,
}

pub(crate) fn roles() -> Plan {
    plan(1, &[("p1", 1, 2), ("p2", 1, 2)])
}

impl Series {
    pub(crate) fn of(trials: &[Seen]) -> Self {
        let mut series = Self { story: Story::default(), ends: Vec::new(), term: 1 };
        for who in ["p1-2.1", "p2-1.1"] {
            series.story.started(who, 10);
        }
        series.story.claimed("p2-1.1", 0, 1, [100, 3_100]);
        for (number, seen) in (1..).zip(trials) {
            series.play(number, *seen);
            series.ends.push(series.story.facts.len());
        }
        let end = TRIAL * (trials.len() as u64 + 1);
        series.story.completed(end);
        series
    }

    fn goes_on(&mut self, span: [u64; 2]) {
        let [mut now, until] = span;
        while now < until {
            let next = (now + 100).min(until);
            self.story.ticks("p2-1.1", &[0], [now, next]);
            self.story.renewed("p2-1.1", next, &[(0, self.term, next + 3_000)]);
            now = next;
        }
    }

    fn play(&mut self, number: u32, seen: Seen) {
        let base = u64::from(number) * TRIAL;
        let at_base = |ms: u64| base + ms;
        let victim = format!("p1-1.{number}");
        self.story.started(&victim, at_base(10));
        let leads = [at_base(100), at_base(1_990)];
        self.story.serves(&victim, 0, 1, leads);
        let id = format!("{number}.k");
        self.story.began(at_base(500), number);
        self.story.asked(&victim, at_base(2_000), &id, "kill").died(&victim, at_base(2_003));
        self.story.of(&victim, at_base(2_003), RunEvent::FaultInForce { fault: fault(&id) });
        if seen == Seen::FailedWithGap {
            self.story.run(at_base(2_004), failed(&id, "kill", "refused"));
        }
        self.story.serves("p1-2.1", 0, number, [at_base(4_000), at_base(9_900)]);
        self.story.lapsed("p1-2.1", at_base(9_900), (0, number), at_base(9_900));
        self.story.renewed("p1-2.1", at_base(9_901), &[]);
        let first = if number == 1 { 100 } else { base };
        self.goes_on([first, at_base(2_500)]);
        match seen {
            Seen::Nothing => {}
            Seen::Gap | Seen::FailedWithGap => {
                // A fault is the cause, so it is not a breach of the redundancy in quiet times.
                self.story.asked("p2-2.1", at_base(2_400), &format!("{number}.c"), "slow");
                let term = self.term;
                self.story.lapsed("p2-1.1", at_base(2_500), (0, term), at_base(2_500));
                self.term += 1;
                let span = [at_base(3_500), at_base(6_500)];
                self.story.claimed("p2-1.1", 0, self.term, span);
            }
            Seen::Unknown => {
                let (from, until) = (at(at_base(2_500)), at(at_base(2_700)));
                self.story.says("p2-1.1", at_base(2_700), MemberEvent::Hole { from, until });
            }
            Seen::Lost => {
                self.story.lose(Some("p2-1.1"));
            }
        }
        let again = match seen {
            Seen::Gap | Seen::FailedWithGap => 3_500,
            Seen::Lost => 2_700,
            Seen::Nothing | Seen::Unknown => 2_500,
        };
        self.goes_on([at_base(again), base + TRIAL]);
        self.story.settled("p1", at_base(8_000)).settled("p2", at_base(8_000));
        self.story.ended(at_base(9_000), number);
    }

    fn facts_of(&self, trial: usize) -> &[Fact] {
        let from = trial.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.story.facts[from..self.ends[trial]]
    }
}

fn seen() -> impl Strategy<Value = Seen> {
    prop_oneof![
        Just(Seen::Nothing),
        Just(Seen::Gap),
        Just(Seen::Unknown),
        Just(Seen::Lost),
        Just(Seen::FailedWithGap)
    ]
}

proptest! {
    #![proptest_config(cases(0x5EED_0026, 24))]

    #[test]
    fn a_trial_is_judged_from_its_own_facts_as_from_all(
        trials in prop::collection::vec(seen(), 1..7),
    ) {
        let (plan, series) = (roles(), Series::of(&trials));
        let all = joint_gaps_found(&Timeline::compute(&plan, &series.story.facts));
        let wanted: Vec<_> = trials.iter().map(|seen| match seen {
            Seen::Nothing => Some(false),
            Seen::Gap | Seen::FailedWithGap => Some(true),
            Seen::Unknown | Seen::Lost => None,
        }).collect();
        prop_assert_eq!(all.iter().map(|(_, had)| *had).collect::<Vec<_>>(), wanted);

        let mut recent = Recent::new(Duration::from_secs(4));
        let most = (0..trials.len()).map(|trial| series.facts_of(trial).len()).max().unwrap();
        for (trial, number) in (0..trials.len()).zip((1..).map(TrialNumber)) {
            series.facts_of(trial).iter().for_each(|fact| recent.observe(fact));
            let end = at(TRIAL * u64::from(number.0) + 9_000);
            prop_assert!(recent.is_heard_since(end));
            let timeline = Timeline::compute(&plan, &recent.facts());
            let found = joint_gaps_found(&timeline).into_iter().find(|(it, _)| *it == number);
            prop_assert_eq!(found, Some(all[trial]), "{:?}", trials);
            recent.forget_before(end);
            // However many trials there were, what is kept is part of one.
            prop_assert!(recent.len() < most, "{} of {most}", recent.len());
        }
    }
}

#[test]
fn a_silent_member_with_claims_is_waited_for() {
    let mut recent = Recent::new(Duration::from_secs(4));
    let mut story = Story::default();
    story.started("p1-1.1", 10).claimed("p1-1.1", 0, 1, [100, 3_100]);
    let heard = |recent: &mut Recent, story: &mut Story| {
        story.facts.drain(..).for_each(|fact| recent.observe(&fact));
        recent.is_heard_since(at(1_000))
    };
    assert!(!heard(&mut recent, &mut story));
    story.renewed("p1-1.1", 1_000, &[(0, 1, 4_000)]);
    assert!(heard(&mut recent, &mut story));
    assert!(!recent.is_heard_since(at(2_000)));
    story.died("p1-1.1", 1_500);
    assert!(heard(&mut recent, &mut story));
    assert!(recent.is_heard_since(at(2_000)), "the dead are not waited for");
    recent.forget_before(at(9_000));
    assert!(recent.is_empty());
}
