//! What a file is: a topology, an experiment or a suite. Its keys say so.

use super::{Node, Origin, Position, Problem};

/// The kinds of files that users write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Roles, clusters, and the groups over them.
    Topology,
    /// Faults, and what is claimed about their outcome.
    Experiment,
    /// Experiments, one after the other.
    Suite,
}

use FileKind::{Experiment, Suite, Topology};

impl FileKind {
    /// The kind that the keys say; none where they say nothing.
    #[must_use]
    pub fn of(document: &Node) -> Option<Self> {
        [Topology, Experiment, Suite].into_iter().find(|kind| kind.is_in(document))
    }

    /// Refuses a file of another kind.
    ///
    /// # Errors
    /// The keys are those of another kind, and none is of this one.
    pub fn expect(self, document: &Node) -> Result<(), Problem> {
        match Self::of(document) {
            Some(other) if other != self && !self.is_in(document) => {
                let message = format!("this is {}, not {}", other.noun(), self.noun());
                Err(Problem::at(start(document), message).hint(other.used()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The problem of a file without a kind.
    #[must_use]
    pub fn none(document: &Node) -> Problem {
        Problem::at(start(document), "this is neither a topology nor an experiment").hint(
            "one has `roles`, `clusters` and `groups`, the other a `method`; a suite has `runs`",
        )
    }

    /// The kind with its article.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Topology => "a topology",
            Experiment => "an experiment",
            Suite => "a suite",
        }
    }

    fn is_in(self, document: &Node) -> bool {
        self.keys().iter().any(|key| document.entry(key).is_some())
    }

    /// Keys that the other kinds do not have.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Topology => &["roles", "clusters", "groups", "defaults", "disjoint"],
            Experiment => &["method", "trials", "assert", "steady_state", "seed", "topology"],
            Suite => &["runs"],
        }
    }

    /// How a file of this kind is used.
    const fn used(self) -> &'static str {
        match self {
            Topology => "name a topology with -f, as in `tandem up -f topologies/duo.yaml`",
            Experiment => "run it with `tandem chaos run`",
            Suite => "run it with `tandem chaos suite`",
        }
    }
}

fn start(document: &Node) -> Origin {
    match document.origin {
        Origin::File(place) => Origin::File(Position { width: 1, ..place }),
        Origin::Override(_) => Origin::File(Position::START),
    }
}
