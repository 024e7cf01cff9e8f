//! Random histories: lives that claim, tick, lapse, stop, die and lose facts, in an order that a
//! run could have, more or less.

use tandem::ids::PartitionId;
use tandem::observation::{Fact, MemberEvent, RunEvent};

use super::facts::{Story, at, class, fault};

/// Numbers drawn in advance, so that a failing history can be shrunk; 0 once they are used up.
pub struct Draws(std::vec::IntoIter<u32>);

impl Draws {
    pub fn new(numbers: Vec<u32>) -> Self {
        Self(numbers.into_iter())
    }

    fn below(&mut self, end: u32) -> u32 {
        self.0.next().unwrap_or(0) % end
    }

    fn ms(&mut self, from: u32, end: u32) -> u64 {
        u64::from(from + self.below(end - from))
    }
}

/// A fact of the history: when, whose, what.
type Entry = (u64, Option<String>, RunEvent);

/// One life, until it dies or the history ends.
struct Living<'a> {
    story: &'a mut Story,
    entries: &'a mut Vec<Entry>,
    who: String,
    now: u64,
    terms: [u32; 2],
    /// The horizon of the open claim on each partition.
    open: [Option<u64>; 2],
}

/// A history of two trials, 0.5 s to 4 s and 4.5 s to 9 s, on groups of two partitions.
pub fn history(groups: &[&str], draws: &mut Draws) -> Vec<Fact> {
    let mut story = Story::default();
    let mut entries: Vec<Entry> = Vec::new();
    for group in groups {
        for member in 1..=2 {
            let mut now = draws.ms(1, 800);
            for incarnation in 1..=2 {
                let who = format!("{group}-{member}.{incarnation}");
                let (story, entries) = (&mut story, &mut entries);
                let living = Living { story, entries, who, now, terms: [0; 2], open: [None; 2] };
                now = living.live(draws) + draws.ms(1, 900);
            }
        }
    }
    entries.sort_by_key(|(ms, ..)| *ms);
    for (ms, who, what) in entries {
        if draws.below(40) == 39 {
            story.lose(None);
        }
        match who {
            Some(who) => story.of(&who, ms, what),
            None => story.run(ms, what),
        };
    }
    // These four come last, for none of them may be lost; between authors `t` alone counts.
    story.began(500, 1).ended(4_000, 1).began(4_500, 2).ended(9_000, 2).completed(9_500);
    story.facts
}

impl Living<'_> {
    fn add(&mut self, what: RunEvent) {
        self.entries.push((self.now, Some(self.who.clone()), what));
    }

    /// Lives, and says when it ended.
    fn live(mut self, draws: &mut Draws) -> u64 {
        self.add(RunEvent::Started { pid: 1, external: None });
        for _ in 0..draws.below(14) {
            self.now += draws.ms(1, 60);
            self.act(draws);
        }
        let kind = draws.below(4);
        if kind > 0 {
            if kind > 1 {
                self.ask("kill");
                self.now += draws.ms(1, 8);
            }
            if kind > 2 {
                self.ask(["kill", "pause"][usize::try_from(draws.below(2)).unwrap()]);
                self.now += draws.ms(1, 8);
            }
            self.add(RunEvent::Died { signal: Some(9), status: None });
        }
        self.now
    }

    fn ask(&mut self, kind: &str) {
        self.ask_for("1.k", kind);
    }

    fn ask_for(&mut self, id: &str, kind: &str) {
        let (fault, class, kind) = (fault(id), class(kind), kind.to_owned());
        self.add(RunEvent::FaultAsked { fault, kind, class, broker: None, cluster: None });
    }

    fn act(&mut self, draws: &mut Draws) {
        let who = self.who.clone();
        let place = draws.below(2);
        let slot = usize::try_from(place).unwrap();
        match draws.below(12) {
            0 | 1 if self.open[slot].is_none() => {
                let until = self.now + draws.ms(20, 2_500);
                self.terms[slot] += 1;
                self.open[slot] = Some(until);
                self.story.claimed(&who, place, self.terms[slot], [self.now, until]);
            }
            2 => self.renew(draws),
            3 => {
                if let Some(until) = self.open[slot].take() {
                    let end = until.min(self.now.saturating_sub(draws.ms(0, 200)));
                    self.story.lapsed(&who, self.now, (place, self.terms[slot]), end);
                }
            }
            4 => {
                self.story.lose(Some(&who));
                if draws.below(2) == 0 {
                    self.open[slot] = None; // it was entries in what was lost
                }
            }
            5 => {
                let (from, until) = (at(self.now), at(self.now + draws.ms(1, 150)));
                self.now += 150;
                self.story.says(&who, self.now, MemberEvent::Hole { from, until });
            }
            6 => self.pause(draws),
            7 => {
                if draws.below(3) == 0 {
                    self.ask_for(
                        "1.f",
                        ["kill", "pause"][usize::try_from(draws.below(2)).unwrap()],
                    );
                    self.now += draws.ms(1, 5);
                    let (fault, kind, class) = (fault("1.f"), "kill".to_owned(), class("kill"));
                    let why = "it fled".to_owned();
                    let failed = RunEvent::FaultFailed { fault, kind, class, why };
                    self.entries.push((self.now, None, failed));
                }
                self.now += draws.ms(1, 400);
            }
            8 => self.assigned(draws),
            9 => self.taken(draws, place),
            _ => {
                let open = (0..2u32).zip(self.open);
                let led: Vec<u32> = open.filter_map(|(on, until)| until.map(|_| on)).collect();
                let until = self.now + draws.ms(1, 900);
                self.story.ticks(&who, &led, [self.now, until]);
                self.now = until;
                self.renew(draws);
            }
        }
    }

    fn pause(&mut self, draws: &mut Draws) {
        if draws.below(2) == 0 {
            self.ask("pause");
            self.now += draws.ms(1, 5);
        }
        if draws.below(4) == 3 {
            self.ask("pause");
            self.now += draws.ms(1, 5);
        }
        if draws.below(2) == 0 {
            self.add(RunEvent::NotYet);
            self.now += draws.ms(1, 5);
        }
        self.add(RunEvent::Stopped);
        self.now += draws.ms(1, 1_500);
        self.add(RunEvent::Continued);
    }

    fn assigned(&mut self, draws: &mut Draws) {
        let partitions = [PartitionId(0), PartitionId(1)];
        let partitions = partitions.into_iter().filter(|_| draws.below(3) > 0).collect();
        let (generation, member_id) = (None, None);
        let assigned = MemberEvent::Assigned { generation, member_id, partitions };
        self.story.says(&self.who, self.now, assigned);
    }

    fn taken(&mut self, draws: &mut Draws, place: u32) {
        let partitions = vec![PartitionId(place)];
        let taken = match draws.below(2) {
            0 => MemberEvent::Revoked { partitions },
            _ => MemberEvent::Lost { partitions },
        };
        self.story.says(&self.who, self.now, taken);
    }

    fn renew(&mut self, draws: &mut Draws) {
        let mut claims = Vec::new();
        for place in 0..2u32 {
            let slot = usize::try_from(place).unwrap();
            if let Some(until) = &mut self.open[slot] {
                *until = (*until).max(self.now + draws.ms(20, 1_500));
                claims.push((place, self.terms[slot], *until));
            }
        }
        self.story.renewed(&self.who, self.now, &claims);
    }
}
