//! What a witness has still to deliver: a bounded ring of whole lines, with a place in it for each
//! cluster. Pure.
//!
//! When there is no room, the oldest lines go, delivered or not. A fact has a number, so a reader
//! that gets the lines after them knows that some are missing, and from when until when.

use std::collections::{BTreeMap, VecDeque};

use crate::ids::ClusterName;

/// A bounded ring of lines.
#[derive(Debug, Clone)]
pub struct Spool {
    lines: VecDeque<Vec<u8>>,
    /// The index of the first line in the ring; lines are counted from 0.
    first: u64,
    bytes: usize,
    most: usize,
    /// The index of the next line that each cluster takes.
    next: BTreeMap<ClusterName, u64>,
    lost: BTreeMap<ClusterName, u64>,
}

impl Spool {
    /// An empty spool for these clusters, of at most `most` bytes.
    #[must_use]
    pub fn new(clusters: impl IntoIterator<Item = ClusterName>, most: usize) -> Self {
        let next = clusters.into_iter().map(|cluster| (cluster, 0)).collect();
        Self { lines: VecDeque::new(), first: 0, bytes: 0, most, next, lost: BTreeMap::new() }
    }

    /// Takes a line, with its line break. The oldest lines make room for it.
    pub fn push(&mut self, line: Vec<u8>) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.bytes > self.most && self.lines.len() > 1 {
            self.drop_first();
        }
        self.trim();
    }

    /// The lines that a cluster takes next, at most `most` bytes but one line at least, and what to
    /// say when it has them; none if it has all.
    #[must_use]
    pub fn pending(&self, cluster: &ClusterName, most: usize) -> Option<(u64, Vec<u8>)> {
        let next = *self.next.get(cluster)?;
        let skip = usize::try_from(next.saturating_sub(self.first)).ok()?;
        let (mut bytes, mut until) = (Vec::new(), next.max(self.first));
        for line in self.lines.iter().skip(skip) {
            if !bytes.is_empty() && bytes.len() + line.len() > most {
                break;
            }
            bytes.extend_from_slice(line);
            until += 1;
        }
        (!bytes.is_empty()).then_some((until, bytes))
    }

    /// Whether lines follow after those before `until`, for a cluster that has these.
    #[must_use]
    pub fn has_after(&self, until: u64) -> bool {
        let end = self.first + u64::try_from(self.lines.len()).unwrap_or(u64::MAX);
        until < end
    }

    /// A cluster has all lines before this one.
    pub fn delivered(&mut self, cluster: &ClusterName, until: u64) {
        if let Some(next) = self.next.get_mut(cluster) {
            *next = until.max(*next);
        }
        self.trim();
    }

    /// Whether every cluster has every line.
    #[must_use]
    pub fn is_delivered(&self) -> bool {
        self.lines.is_empty()
    }

    /// How many lines a cluster never gets.
    #[must_use]
    pub fn lost(&self, cluster: &ClusterName) -> u64 {
        self.lost.get(cluster).copied().unwrap_or(0)
    }

    /// Drops what every cluster has.
    fn trim(&mut self) {
        let had = self.next.values().min().copied().unwrap_or(u64::MAX);
        while self.first < had && !self.lines.is_empty() {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        let Some(line) = self.lines.pop_front() else { return };
        self.bytes -= line.len();
        for (cluster, next) in &mut self.next {
            if *next <= self.first {
                *next = self.first + 1;
                *self.lost.entry(cluster.clone()).or_default() += 1;
            }
        }
        self.first += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(name: &str) -> ClusterName {
        name.parse().unwrap()
    }

    fn spool(most: usize) -> Spool {
        Spool::new([cluster("a"), cluster("b")], most)
    }

    fn pending(spool: &Spool, name: &str, most: usize) -> Option<(u64, String)> {
        let (until, bytes) = spool.pending(&cluster(name), most)?;
        Some((until, String::from_utf8(bytes).unwrap()))
    }

    fn push(spool: &mut Spool, lines: std::ops::Range<u32>) {
        lines.for_each(|line| spool.push(format!("{line:03}\n").into_bytes()));
    }

    #[test]
    fn each_cluster_takes_the_lines_at_its_own_pace() {
        let mut one = spool(1_000);
        push(&mut one, 0..3);
        assert_eq!(pending(&one, "a", 8), Some((2, "000\n001\n".to_owned())));
        assert_eq!(pending(&one, "a", 1), Some((1, "000\n".to_owned())), "one line at least");
        one.delivered(&cluster("a"), 2);
        assert_eq!(pending(&one, "a", 99), Some((3, "002\n".to_owned())));
        assert_eq!(pending(&one, "b", 99), Some((3, "000\n001\n002\n".to_owned())));
        one.delivered(&cluster("a"), 3);
        assert_eq!((pending(&one, "a", 99), one.is_delivered()), (None, false));
        one.delivered(&cluster("b"), 3);
        assert!(one.is_delivered());
        assert_eq!(one.lost(&cluster("a")) + one.lost(&cluster("b")), 0);
    }

    #[test]
    fn a_full_spool_drops_the_oldest_lines_and_counts_them_for_those_that_lack_them() {
        let mut one = spool(12);
        push(&mut one, 0..2);
        one.delivered(&cluster("a"), 2);
        push(&mut one, 2..5);
        assert_eq!(pending(&one, "a", 99), Some((5, "002\n003\n004\n".to_owned())));
        assert_eq!(pending(&one, "b", 99), Some((5, "002\n003\n004\n".to_owned())));
        assert_eq!((one.lost(&cluster("a")), one.lost(&cluster("b"))), (0, 2));
        // An acknowledgement that comes after its lines were dropped takes nothing back.
        one.delivered(&cluster("b"), 1);
        assert_eq!(pending(&one, "b", 4), Some((3, "002\n".to_owned())));
    }

    #[test]
    fn a_line_longer_than_the_spool_is_kept_alone() {
        let mut one = spool(3);
        push(&mut one, 0..2);
        assert_eq!(pending(&one, "a", 99), Some((2, "001\n".to_owned())));
    }

    #[test]
    fn no_line_is_delivered_twice_or_out_of_order_and_what_is_missing_is_counted() {
        // A small generator of numbers; each seed is a history.
        for seed in 1..200_u64 {
            let mut random = seed;
            let mut below = move |most: u64| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 33) % most
            };
            let mut one = spool(40);
            let mut pushed = 0_u32;
            let mut got: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
            for _ in 0..300 {
                if below(3) > 0 {
                    push(&mut one, pushed..pushed + 1);
                    pushed += 1;
                }
                for name in ["a", "b"] {
                    if below(4) == 0
                        && let Some((until, lines)) =
                            pending(&one, name, usize::try_from(below(20)).unwrap())
                    {
                        let lines = lines.lines().map(|line| line.parse::<u32>().unwrap());
                        got.entry(name).or_default().extend(lines);
                        one.delivered(&cluster(name), until);
                    }
                }
            }
            for (name, got) in got {
                assert!(got.is_sorted_by(|a, b| a < b), "seed {seed}: {name} {got:?}");
                let last = got.last().copied().unwrap_or(0);
                let missing = u64::from(last + 1) - u64::try_from(got.len()).unwrap();
                let lost = one.lost(&cluster(name));
                assert!(missing <= lost, "seed {seed}: {name} misses {missing}, counted {lost}");
            }
        }
    }
}
