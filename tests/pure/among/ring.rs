//! Election on a ring. Its words have a round, and name the member of which they speak, as in
//! `election:2` and `elected:2`, and the answers `took-election:2` and `took-elected:2`; `left`
//! names none.

use tandem::neli::elections::among::Peer;
use tandem::neli::elections::ring::{Instance, Kind};
use tandem::time::Mono;

use super::{Spoken, agrees};

impl Spoken for Instance {
    const FOLDER: &'static str = "ring";
    const NUMBER: Option<(&'static str, &'static str)> = Some(("round", "round "));

    fn word(word: &str, _: impl Fn() -> Mono) -> Option<Kind> {
        if word == "left" {
            return Some(Kind::Left);
        }
        let (word, origin) = word.split_once(':')?;
        let origin = Peer(origin.parse().ok()?);
        Some(match word {
            "election" => Kind::Election(origin),
            "elected" => Kind::Elected(origin),
            "took-election" => Kind::TookElection(origin),
            "took-elected" => Kind::TookElected(origin),
            _ => return None,
        })
    }

    fn shown(word: Kind) -> String {
        match word {
            Kind::Election(Peer(origin)) => format!("election:{origin}"),
            Kind::Elected(Peer(origin)) => format!("elected:{origin}"),
            Kind::TookElection(Peer(origin)) => format!("took-election:{origin}"),
            Kind::TookElected(Peer(origin)) => format!("took-elected:{origin}"),
            Kind::Left => "left".to_owned(),
        }
    }

    fn ends_claims(word: Kind) -> bool {
        matches!(word, Kind::Elected(_))
    }
}

agrees!(Instance);
