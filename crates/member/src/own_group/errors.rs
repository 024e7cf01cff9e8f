//! Why a member is not in its group, for its operator.

use super::line::Broken;
use crate::throttle::Throttle;
use tandem_facts::time::Mono;

/// The refusals of brokers and of the group. Connections that fail for other reasons are not
/// counted: librdkafka reports a broker that cannot be reached.
#[derive(Default)]
pub(super) struct Errors {
    count: u64,
    /// Why this member is refused; none once it has its place.
    refused: Option<String>,
    throttle: Throttle,
}

impl Errors {
    /// A connection failed. The next attempt follows soon, and may fail for the same reason.
    pub(super) fn note(&mut self, now: Mono, Broken { address, why, refused }: Broken) {
        if !refused {
            tracing::debug!(address, why, "A connection to a coordinator failed.");
            return;
        }
        // What lasts is logged from time to time, with the reason of that moment.
        if self.throttle.pass(now, "refused").is_some() {
            tracing::warn!(address, why, "The member cannot join its group; it tries again.");
        }
        self.refuse(why);
    }

    pub(super) fn refuse(&mut self, why: String) {
        self.count += 1;
        self.refused = Some(why);
    }

    /// The member has its place.
    pub(super) fn clear(&mut self) {
        self.refused = None;
        self.throttle = Throttle::default();
    }

    /// The number of refusals, and the reason of the latest if it stands.
    pub(super) fn summary(&self) -> (u64, Option<String>) {
        (self.count, self.refused.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(why: &str, refused: bool) -> Broken {
        Broken { address: "h:1".to_owned(), why: why.to_owned(), refused }
    }

    #[test]
    fn only_refusals_count_and_the_reason_goes_when_the_member_has_its_place() {
        let mut errors = Errors::default();
        errors.note(Mono(1), broken("reset", false));
        assert_eq!(errors.summary(), (0, None));
        errors.note(Mono(2), broken("bad password", true));
        errors.note(Mono(3), broken("reset", false));
        assert_eq!(errors.summary(), (1, Some("bad password".to_owned())));
        errors.clear();
        assert_eq!(errors.summary(), (1, None));
    }
}
