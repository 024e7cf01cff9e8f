//! Election by generations. Its words, each with `generation=G`: `poll`, `favoured`, `ask`, `vote`,
//! `heartbeat sent=MS`, `heard sent=MS`, `refused`, `resigned`.

use tandem::neli::elections::generation::{Instance, Kind};
use tandem::time::Mono;

use super::{Spoken, passes, show};

impl Spoken for Instance {
    const FOLDER: &'static str = "generation";
    const NUMBER: Option<(&'static str, &'static str)> = Some(("generation", ""));

    fn word(word: &str, sent: impl Fn() -> Mono) -> Option<Kind> {
        Some(match word {
            "poll" => Kind::Poll,
            "favoured" => Kind::Favoured,
            "ask" => Kind::Ask,
            "vote" => Kind::Vote,
            "heartbeat" => Kind::Heartbeat(sent()),
            "heard" => Kind::Heard(sent()),
            "refused" => Kind::Refused,
            "resigned" => Kind::Resigned,
            _ => return None,
        })
    }

    fn shown(word: Kind) -> String {
        match word {
            Kind::Poll => "poll".to_owned(),
            Kind::Favoured => "favoured".to_owned(),
            Kind::Ask => "ask".to_owned(),
            Kind::Vote => "vote".to_owned(),
            Kind::Heartbeat(at) => format!("heartbeat sent {}", show(at)),
            Kind::Heard(at) => format!("heard sent {}", show(at)),
            Kind::Refused => "refused".to_owned(),
            Kind::Resigned => "resigned".to_owned(),
        }
    }

    fn sent(word: Kind) -> Option<Mono> {
        if let Kind::Heartbeat(at) = word { Some(at) } else { None }
    }

    fn counted_from(word: Kind, at: Mono) -> Kind {
        if let Kind::Heard(_) = word { Kind::Heard(at) } else { word }
    }
}

passes!(Instance);
