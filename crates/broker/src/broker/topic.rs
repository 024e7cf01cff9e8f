//! Topics: a width, some settings, and a log for each partition.

use std::collections::BTreeMap;
use std::time::Duration;

use uuid::Uuid;

use super::log::Log;
use tandem_facts::time::Wall;

/// Topic settings that Kafka knows and this broker accepts, with their defaults. Those that the
/// code does not read have no effect here.
pub(super) const KNOWN: [(&str, &str); 24] = [
    ("cleanup.policy", "delete"),
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

/// What a topic was made with.
#[derive(Debug, Clone, Default)]
pub(super) struct Config {
    /// As it was given, to be shown again.
    pub(super) given: BTreeMap<String, String>,
    /// Whether the broker stamps.
    pub(super) log_append_time: bool,
    pub(super) retention: Option<Limit>,
    pub(super) retention_bytes: Option<usize>,
    pub(super) batch_bytes_max: Option<usize>,
}

/// How long messages are kept.
#[derive(Debug, Clone, Copy)]
pub(super) enum Limit {
    Forever,
    For(Duration),
}

impl Config {
    /// Reads what a CreateTopics request gives; the error says what is wrong.
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
                "cleanup.policy" if value != "delete" => return Err(wrong()),
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

    /// Adds empty partitions until there are so many.
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

    /// Whoever waits here is woken, to find the topic gone.
    pub(super) fn close(self) {
        self.logs.into_iter().for_each(Log::close);
    }

    /// Drops what is too old or too much.
    pub(super) fn retain(&mut self, now: Wall, default: Duration) {
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
