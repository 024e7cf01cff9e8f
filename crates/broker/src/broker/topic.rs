//! Topics: a width, settings, and a log per partition.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use uuid::Uuid;

use super::log::Log;
use tandem_facts::time::Wall;

/// The default of `cleanup.policy`.
pub(super) const CLEANUP: &str = "delete";

/// The topic settings of Kafka that this broker accepts, with their defaults. Settings that the
/// code does not read have no effect.
pub(super) const KNOWN: [(&str, &str); 24] = [
    ("cleanup.policy", CLEANUP),
    ("compression.type", "producer"),
    ("delete.retention.ms", "86400000"),
    ("file.delete.delay.ms", "60000"),
    ("flush.messages", "9223372036854775807"),
    ("flush.ms", "9223372036854775807"),
    ("index.interval.bytes", "4096"),
    ("max.compaction.lag.ms", "9223372036854775807"),
    ("max.message.bytes", "1048588"),
    ("message.timestamp.after.max.ms", "3600000"),
    ("message.timestamp.before.max.ms", "9223372036854775807"),
    ("message.timestamp.type", "CreateTime"),
    ("min.cleanable.dirty.ratio", "0.5"),
    ("min.compaction.lag.ms", "0"),
    ("min.insync.replicas", "1"),
    ("preallocate", "false"),
    ("retention.bytes", "-1"),
    ("retention.ms", "604800000"),
    ("segment.bytes", "1073741824"),
    ("segment.index.bytes", "10485760"),
    ("segment.jitter.ms", "0"),
    ("segment.ms", "604800000"),
    ("unclean.leader.election.enable", "false"),
    ("local.retention.ms", "-2"),
];

/// The settings with which a topic was created.
#[derive(Debug, Clone, Default)]
pub(super) struct Config {
    /// The settings as given, to be described again.
    pub(super) given: BTreeMap<String, String>,
    /// Whether the broker sets the timestamps.
    pub(super) log_append_time: bool,
    /// Whether it is compacted and nothing is deleted for its age or size.
    pub(super) keeps: bool,
    pub(super) retention: Option<Limit>,
    pub(super) retention_bytes: Option<usize>,
    pub(super) batch_bytes_max: Option<usize>,
}

/// The limits of retention.
#[derive(Debug, Clone, Copy)]
pub(super) enum Limit {
    Forever,
    For(Duration),
}

impl Config {
    /// Parses the settings of a CreateTopics request; the error names the wrong one.
    pub(super) fn read(given: BTreeMap<String, String>) -> Result<Self, String> {
        let mut config = Self::default();
        for (name, value) in &given {
            let wrong = || format!("Invalid value {value} for configuration {name}");
            match name.as_str() {
                "message.timestamp.type" => {
                    config.log_append_time = match value.as_str() {
                        "LogAppendTime" => true,
                        "CreateTime" => false,
                        _ => return Err(wrong()),
                    };
                }
                "retention.ms" => {
                    config.retention = Some(match value.parse::<i64>().map_err(|_| wrong())? {
                        -1 => Limit::Forever,
                        ms => Limit::For(Duration::from_millis(
                            u64::try_from(ms).map_err(|_| wrong())?,
                        )),
                    });
                }
                "retention.bytes" => {
                    let bytes = value.parse::<i64>().map_err(|_| wrong())?;
                    config.retention_bytes = usize::try_from(bytes).ok();
                }
                "max.message.bytes" => {
                    config.batch_bytes_max = Some(value.parse().map_err(|_| wrong())?);
                }
                "cleanup.policy" => {
                    let policies: BTreeSet<&str> = value.split(',').map(str::trim).collect();
                    if !policies.iter().all(|one| ["compact", CLEANUP].contains(one)) {
                        return Err(wrong());
                    }
                    config.keeps = !policies.contains(CLEANUP);
                }
                name if !KNOWN.iter().any(|(known, _)| *known == name) => {
                    return Err(format!("Unknown topic config name: {name}"));
                }
                _ => {}
            }
        }
        config.given = given;
        Ok(config)
    }
}

#[derive(Debug)]
pub(super) struct Topic {
    pub(super) id: Uuid,
    pub(super) config: Config,
    logs: Vec<Log>,
}

impl Topic {
    pub(super) fn new(id: Uuid, width: usize, config: Config) -> Self {
        Self { id, config, logs: (0..width).map(|_| Log::default()).collect() }
    }

    pub(super) fn width(&self) -> i32 {
        i32::try_from(self.logs.len()).unwrap_or(i32::MAX)
    }

    /// Adds empty partitions up to this number.
    pub(super) fn widen(&mut self, width: usize) {
        self.logs.resize_with(width.max(self.logs.len()), Log::default);
    }

    pub(super) fn logs(&self) -> &[Log] {
        &self.logs
    }

    pub(super) fn logs_mut(&mut self) -> &mut [Log] {
        &mut self.logs
    }

    pub(super) fn log(&self, partition: i32) -> Option<&Log> {
        self.logs.get(usize::try_from(partition).ok()?)
    }

    pub(super) fn log_mut(&mut self, partition: i32) -> Option<&mut Log> {
        self.logs.get_mut(usize::try_from(partition).ok()?)
    }

    /// Wakes all waiting fetches, since the topic is deleted.
    pub(super) fn close(self) {
        self.logs.into_iter().for_each(Log::close);
    }

    /// Drops batches that are too old or exceed the size limit.
    pub(super) fn retain(&mut self, now: Wall, default: Duration) {
        if self.config.keeps {
            return;
        }
        let oldest = match self.config.retention.unwrap_or(Limit::For(default)) {
            Limit::Forever => None,
            Limit::For(span) => Some(Wall(
                now.0.saturating_sub(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)),
            )),
        };
        for log in &mut self.logs {
            if let Some(oldest) = oldest {
                log.expire(oldest);
            }
            if let Some(most) = self.config.retention_bytes {
                log.shrink(most);
            }
        }
    }
}
