//! A large synthetic run: many roles on few partitions, some groups of some members, and a killed
//! leader per trial. One trial kills in every group at once, and in one a member is not heard.

use std::collections::BTreeMap;

use tandem::ids::PartitionId;
use tandem::observation::{Fact, MemberEvent, RunEvent};

use crate::html_report::made::Fixture;
use support::facts::{Story, at, brief, fault, plan};

const TRIAL_MS: u64 = 22_000;
/// The trial that hits all groups at once.
pub const TWIN: u32 = 5;
/// The trial in which a member is not heard of for a while.
pub const BLIND: u32 = 3;

/// How large.
#[derive(Debug, Clone, Copy)]
pub struct Large {
    pub roles: u32,
    pub partitions: u32,
    pub groups: u32,
    pub members: u32,
    pub trials: u32,
}

/// As large as a service is that has a thousand roles.
pub const THOUSAND: Large =
    Large { roles: 1_000, partitions: 64, groups: 3, members: 5, trials: 100 };

/// One group: who holds what, since when, and how often each member was started.
struct Group {
    name: String,
    held: BTreeMap<u32, (u32, u32, u64)>,
    lives: Vec<u32>,
    terms: u32,
}

impl Large {
    fn names(self) -> Vec<String> {
        (1..=self.groups).map(|group| format!("p{group}")).collect()
    }

    /// What its journal holds.
    pub fn facts(self) -> Vec<Fact> {
        self.story(&self.names()).facts
    }

    pub fn fixture(self) -> Fixture {
        let names = self.names();
        let shape: Vec<_> =
            names.iter().map(|name| (name.as_str(), self.partitions, self.members)).collect();
        let plan = plan(self.roles, &shape);
        let brief = brief(&plan, self.trials, &["group.gap.max <= bound.group.gap"]);
        let story = self.story(&names);
        Fixture::new(plan, &brief, &story.facts)
    }

    fn story(self, names: &[String]) -> Story {
        let mut story = Story::default();
        let mut groups: Vec<_> = names.iter().map(|name| Group::new(name, self)).collect();
        for group in &mut groups {
            for member in 0..self.members {
                story.started(&group.life(member), 20);
            }
            (0..self.partitions).for_each(|on| group.take(&mut story, on, on % self.members, 100));
        }
        for trial in 1..=self.trials {
            let base = 1_000 + u64::from(trial - 1) * TRIAL_MS;
            story.began(base, trial);
            let victim = trial % self.members;
            for (place, group) in (0..).zip(&mut groups) {
                if trial == TWIN || trial % self.groups == place {
                    group.killed(&mut story, self, trial, victim, base + 500);
                }
            }
            if trial == BLIND {
                let (from, until) = (at(base + 15_000), at(base + 15_400));
                let life = groups[0].life((victim + 1) % self.members);
                story.says(&life, base + 15_400, MemberEvent::Hole { from, until });
            }
            story.ended(base + TRIAL_MS - 2_000, trial);
        }
        let end = 1_000 + u64::from(self.trials) * TRIAL_MS;
        for group in &mut groups {
            let held: Vec<_> = group.held.keys().copied().collect();
            held.into_iter().for_each(|on| group.lose(&mut story, on, end));
        }
        story.completed(end + 10);
        story
    }
}

impl Group {
    fn new(name: &str, of: Large) -> Self {
        let lives = vec![1; of.members as usize];
        Self { name: name.to_owned(), held: BTreeMap::new(), lives, terms: 0 }
    }

    fn life(&self, member: u32) -> String {
        format!("{}-{}.{}", self.name, member + 1, self.lives[member as usize])
    }

    /// Claims and serves from `now` on.
    fn take(&mut self, story: &mut Story, on: u32, member: u32, now: u64) {
        self.terms += 1;
        story.claimed(&self.life(member), on, self.terms, [now, now + 1_000_000_000]);
        self.held.insert(on, (member, self.terms, now));
    }

    /// Its duty ticked until `now`.
    fn tick(&self, story: &mut Story, on: u32, now: u64) {
        let (member, _, from) = self.held[&on];
        let (partitions, from, until) = (vec![PartitionId(on)], at(from), at(now));
        story.says(&self.life(member), now, MemberEvent::Ticks { partitions, from, until });
    }

    /// Serves until `now`, and claims no longer.
    fn lose(&mut self, story: &mut Story, on: u32, now: u64) {
        self.tick(story, on, now);
        let (member, term, _) = self.held[&on];
        story.lapsed(&self.life(member), now, (on, term), now);
    }

    /// One member dies, others take over, it comes back and takes its partitions again while they
    /// still claim them.
    fn killed(&mut self, story: &mut Story, of: Large, trial: u32, victim: u32, now: u64) {
        let id = format!("{trial}.k{}", self.name);
        let victims: Vec<_> = (0..of.partitions).filter(|on| self.held[on].0 == victim).collect();
        for on in &victims {
            self.tick(story, *on, now - 4);
        }
        let life = self.life(victim);
        story.asked(&life, now, &id, "kill").died(&life, now + 3);
        story.of(&life, now + 3, RunEvent::FaultInForce { fault: fault(&id) });
        for on in &victims {
            let gap = 900 + u64::from(on * 7 + trial * 13) % 380;
            self.take(story, *on, (victim + 1 + on % (of.members - 1)) % of.members, now + gap);
        }
        let back = now + 6_000;
        self.lives[victim as usize] += 1;
        let life = self.life(victim);
        story.started(&life, back).of(&life, back, RunEvent::FaultHealed { fault: fault(&id) });
        for on in &victims {
            let until = back + 9_000 + u64::from(on * 11 + trial) % 300;
            self.lose(story, *on, until);
            self.take(story, *on, victim, back + 400);
        }
        story.settled(&self.name, back + 9_900);
    }
}
