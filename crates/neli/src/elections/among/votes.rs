//! What a member must remember over its lives: of each partition its generation, and for whom it
//! has voted in it. As text: a line for each partition, in order, as in `7 2` or `7 -`.

use std::fmt::Write;

use super::{Generation, Peer};

/// The first line; its number is the version of the format.
const HEAD: &str = "tandem votes 1";

/// The vote of one partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ballot {
    /// The greatest generation that the member knows.
    pub generation: Generation,
    /// For whom it has voted in this generation.
    pub vote: Option<Peer>,
}

/// The votes on all partitions, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Votes(pub Vec<Ballot>);

impl Votes {
    /// The text of a file.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = format!("{HEAD}\n");
        for Ballot { generation, vote } in &self.0 {
            let vote = vote.map_or_else(|| "-".to_owned(), |peer| peer.0.to_string());
            // Writing to a string cannot fail.
            writeln!(text, "{generation} {vote}").ok();
        }
        text
    }

    /// The votes in a text; none if it is not one of `encode`.
    #[must_use]
    pub fn decode(text: &str) -> Option<Self> {
        let lines = text.strip_prefix(HEAD)?.strip_prefix('\n')?;
        let lines = if lines.is_empty() { lines } else { lines.strip_suffix('\n')? };
        lines.lines().map(ballot).collect::<Option<_>>().map(Self)
    }
}

fn ballot(line: &str) -> Option<Ballot> {
    let (generation, vote) = line.split_once(' ')?;
    let vote = if vote == "-" { None } else { Some(Peer(vote.parse().ok()?)) };
    Some(Ballot { generation: Generation(generation.parse().ok()?), vote })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn votes_survive_their_text_and_a_part_of_it_is_none() {
        let ballot = |generation, vote: Option<u16>| Ballot {
            generation: Generation(generation),
            vote: vote.map(Peer),
        };
        let votes = Votes(vec![ballot(0, None), ballot(12, Some(0)), ballot(u64::MAX, Some(2))]);
        let text = votes.encode();
        assert_eq!(Votes::decode(&text), Some(votes.clone()));
        for end in 0..text.len() {
            assert_ne!(Votes::decode(&text[..end]), Some(votes.clone()), "{end}");
        }
        assert_eq!(Votes::decode("tandem votes 1\n7\n"), None);
        assert_eq!(Votes::decode(""), None);
    }
}
