//! The settings of these groups: those of the broker, and those of a group that differ.

use std::time::Duration;

use crate::groups::Fault;
use crate::groups::coordinator::Coordinator;
use tandem_facts::time::Mono;

/// The settings of the newer protocol, as an operator of Kafka sets them on a broker.
#[derive(Debug, Clone)]
pub struct ConsumerSettings {
    /// `group.consumer.session.timeout.ms`.
    pub session: Duration,
    /// `group.consumer.min.session.timeout.ms`, for the setting of a group.
    pub session_min: Duration,
    /// `group.consumer.max.session.timeout.ms`, for the setting of a group.
    pub session_max: Duration,
    /// `group.consumer.heartbeat.interval.ms`.
    pub heartbeat: Duration,
    /// `group.consumer.min.heartbeat.interval.ms`, for the setting of a group.
    pub heartbeat_min: Duration,
    /// `group.consumer.max.heartbeat.interval.ms`, for the setting of a group.
    pub heartbeat_max: Duration,
}

impl Default for ConsumerSettings {
    /// Kafka's defaults, except that a group may have shorter sessions.
    fn default() -> Self {
        Self {
            session: Duration::from_secs(45),
            session_min: Duration::from_millis(10),
            session_max: Duration::from_mins(1),
            heartbeat: Duration::from_secs(5),
            heartbeat_min: Duration::from_millis(10),
            heartbeat_max: Duration::from_secs(15),
        }
    }
}

/// The settings in which a group differs from the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct GroupOverrides {
    /// `consumer.session.timeout.ms`.
    pub session: Option<Duration>,
    /// `consumer.heartbeat.interval.ms`.
    pub heartbeat: Option<Duration>,
}

/// The settings by which a heartbeat is answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) session: Duration,
    pub(super) heartbeat: Duration,
}

impl Coordinator {
    /// In what the group's settings differ from the broker's.
    #[must_use]
    pub fn overrides(&self, group: &str) -> GroupOverrides {
        self.overrides.get(group).copied().unwrap_or_default()
    }

    /// Whether a group may have these settings.
    ///
    /// # Errors
    ///
    /// A value is out of the broker's range.
    pub fn check_overrides(&self, overrides: GroupOverrides) -> Result<(), Fault> {
        let consumer = &self.settings().consumer;
        let sessions = consumer.session_min..=consumer.session_max;
        let intervals = consumer.heartbeat_min..=consumer.heartbeat_max;
        let fits = overrides.session.is_none_or(|session| sessions.contains(&session))
            && overrides.heartbeat.is_none_or(|interval| intervals.contains(&interval));
        // As in Kafka, where the effective values count.
        let session = overrides.session.unwrap_or(consumer.session);
        let heartbeat = overrides.heartbeat.unwrap_or(consumer.heartbeat);
        if fits && session > heartbeat { Ok(()) } else { Err(Fault::InvalidConfig) }
    }

    /// Sets in what a group, which need not exist, differs from the broker's settings. A member
    /// notices with its next heartbeat.
    ///
    /// # Errors
    ///
    /// A value is out of the broker's range, or too many groups have settings.
    pub fn handle_overrides(
        &mut self,
        now: Mono,
        group: &str,
        overrides: GroupOverrides,
    ) -> Result<(), Fault> {
        self.handle_timeout(now);
        self.check_overrides(overrides)?;
        if overrides == GroupOverrides::default() {
            self.overrides.remove(group);
            return Ok(());
        }
        let full = self.overrides.len() >= self.settings().groups_max;
        if full && !self.overrides.contains_key(group) {
            return Err(Fault::InvalidConfig);
        }
        self.overrides.insert(group.to_owned(), overrides);
        Ok(())
    }

    pub(super) fn terms(&self, group: &str) -> Terms {
        let (overrides, consumer) = (self.overrides(group), &self.settings().consumer);
        Terms {
            session: overrides.session.unwrap_or(consumer.session),
            heartbeat: overrides.heartbeat.unwrap_or(consumer.heartbeat),
        }
    }
}
