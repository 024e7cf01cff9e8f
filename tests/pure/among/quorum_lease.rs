//! Election by a quorum's lease. Its words, each with `term=T`: `ask sent=MS`, `granted sent=MS`,
//! `refused`, `released`.

use tandem::neli::elections::quorum_lease::{Instance, Kind};
use tandem::time::Mono;

use super::{Spoken, passes, show};

impl Spoken for Instance {
    const FOLDER: &'static str = "quorum_lease";
    const NUMBER: Option<(&'static str, &'static str)> = Some(("term", "term "));

    fn word(word: &str, sent: impl Fn() -> Mono) -> Option<Kind> {
        Some(match word {
            "ask" => Kind::Ask(sent()),
            "granted" => Kind::Granted(sent()),
            "refused" => Kind::Refused,
            "released" => Kind::Released,
            _ => return None,
        })
    }

    fn shown(word: Kind) -> String {
        match word {
            Kind::Ask(at) => format!("ask sent {}", show(at)),
            Kind::Granted(at) => format!("granted sent {}", show(at)),
            Kind::Refused => "refused".to_owned(),
            Kind::Released => "released".to_owned(),
        }
    }

    fn sent(word: Kind) -> Option<Mono> {
        if let Kind::Ask(at) = word { Some(at) } else { None }
    }

    fn counted_from(word: Kind, at: Mono) -> Kind {
        if let Kind::Granted(_) = word { Kind::Granted(at) } else { word }
    }
}

passes!(Instance);
