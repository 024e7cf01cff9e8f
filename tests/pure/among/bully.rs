//! Election by the greatest id. Its words have no number: `election`, `answer`, `coordinator`,
//! `resigned`.

use tandem::neli::elections::bully::{Instance, Kind};
use tandem::time::Mono;

use super::{Spoken, agrees};

impl Spoken for Instance {
    const FOLDER: &'static str = "bully";
    const NUMBER: Option<(&'static str, &'static str)> = None;

    fn word(word: &str, _: impl Fn() -> Mono) -> Option<Kind> {
        Some(match word {
            "election" => Kind::Election,
            "answer" => Kind::Answer,
            "coordinator" => Kind::Coordinator,
            "resigned" => Kind::Resigned,
            _ => return None,
        })
    }

    fn shown(word: Kind) -> String {
        match word {
            Kind::Election => "election",
            Kind::Answer => "answer",
            Kind::Coordinator => "coordinator",
            Kind::Resigned => "resigned",
        }
        .to_owned()
    }

    fn ends_claims(word: Kind) -> bool {
        word == Kind::Coordinator
    }
}

agrees!(Instance);
