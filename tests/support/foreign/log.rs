//! What programs that read as members of a group say: one line each, all through one pipe, so that
//! the order of the lines is the order in which it happened.
//!
//!   NAME assigned 0 1 2      all partitions that it holds from now on
//!   NAME heard 3:17-42       messages of a partition, from the first to the last
//!   NAME committed 3:43      the broker has confirmed that
//!   produced 2000            so many messages are acknowledged, in all

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, PipeWriter, Write};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Assigned(String, BTreeSet<i32>),
    Heard(String, Vec<(i32, i64, i64)>),
    Committed(String, Vec<(i32, i64)>),
    Produced(i64),
}

impl Line {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let first = words.next()?.to_owned();
        if first == "produced" {
            return words.next()?.parse().ok().map(Self::Produced);
        }
        let pair = |word: &str, between: char| {
            let (one, other) = word.split_once(between)?;
            Some((one.to_owned(), other.to_owned()))
        };
        match words.next()? {
            "assigned" => {
                let all: Option<_> = words.map(|word| word.parse().ok()).collect();
                Some(Self::Assigned(first, all?))
            }
            "heard" => {
                let all = words.map(|word| {
                    let (partition, span) = pair(word, ':')?;
                    let (from, to) = pair(&span, '-')?;
                    Some((partition.parse().ok()?, from.parse().ok()?, to.parse().ok()?))
                });
                Some(Self::Heard(first, all.collect::<Option<_>>()?))
            }
            "committed" => {
                let all = words.map(|word| {
                    let (partition, end) = pair(word, ':')?;
                    Some((partition.parse().ok()?, end.parse().ok()?))
                });
                Some(Self::Committed(first, all.collect::<Option<_>>()?))
            }
            _ => None,
        }
    }

    pub fn must(text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|| panic!("a reader says {text:?}"))
    }
}

/// All that was said so far.
pub struct Log {
    lines: Arc<Mutex<Vec<String>>>,
    into: PipeWriter,
}

impl Log {
    pub fn new() -> Self {
        let (from, into) = std::io::pipe().unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&lines);
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                all.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        Self { lines, into }
    }

    pub fn pipe(&self) -> PipeWriter {
        self.into.try_clone().unwrap()
    }

    pub fn texts(&self) -> Vec<String> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn lines(&self) -> Vec<Line> {
        self.texts().iter().map(|text| Line::must(text)).collect()
    }
}

/// Translates the facts of a member of Tandem's into what readers say.
pub fn translate(name: &str, facts: impl std::io::Read, mut into: impl Write) {
    let mut held = BTreeSet::new();
    for line in BufReader::new(facts).lines().map_while(Result::ok) {
        let fact: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        let of = |word: &str| {
            let all = fact.get(word)?.get("partitions")?.as_array()?;
            let all = all.iter().filter_map(serde_json::Value::as_i64);
            Some(all.map(|one| i32::try_from(one).unwrap()).collect::<BTreeSet<i32>>())
        };
        if let Some(all) = of("assigned") {
            held = all;
        } else if let Some(gone) = of("revoked").or_else(|| of("lost")) {
            held = &held - &gone;
        } else {
            continue;
        }
        let words: String = held.iter().map(|one| format!(" {one}")).collect();
        // One write: lines of several members do not mix.
        if into.write_all(format!("{name} assigned{words}\n").as_bytes()).is_err() {
            return;
        }
    }
}

/// What was heard of the messages.
#[derive(Debug, PartialEq, Eq)]
pub struct Judged {
    /// Different ones.
    pub heard: usize,
    /// How often one was heard again, as at-least-once allows.
    pub again: usize,
    /// Heard by a member that was assigned the partition after they were committed.
    pub wrong: Vec<String>,
}

pub fn judge(lines: &[Line]) -> Judged {
    let mut committed: BTreeMap<i32, i64> = BTreeMap::new();
    // Where a member goes on at the least, since its last assignment.
    let mut floors: BTreeMap<(&str, i32), i64> = BTreeMap::new();
    let mut heard = BTreeSet::new();
    let mut judged = Judged { heard: 0, again: 0, wrong: Vec::new() };
    for line in lines {
        match line {
            Line::Assigned(name, all) => {
                for partition in all {
                    let floor = committed.get(partition).copied().unwrap_or_default();
                    floors.insert((name, *partition), floor);
                }
            }
            Line::Committed(_, ends) => {
                for (partition, end) in ends {
                    let known = committed.entry(*partition).or_default();
                    *known = (*known).max(*end);
                }
            }
            Line::Heard(name, spans) => {
                for &(partition, from, to) in spans {
                    let floor = floors.get(&(name.as_str(), partition));
                    if floor.is_none_or(|floor| from < *floor) {
                        judged.wrong.push(format!("{name}: {partition}:{from}-{to}, {floor:?}"));
                    }
                    for offset in from..=to {
                        judged.again += usize::from(!heard.insert((partition, offset)));
                    }
                }
            }
            Line::Produced(_) => {}
        }
    }
    judged.heard = heard.len();
    judged
}
