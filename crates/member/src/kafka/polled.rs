//! A producer with a thread that serves its delivery reports.
//!
//! rdkafka's own (`ThreadedProducer`) looks ten times a second, and its clock is finer than that of
//! the wait below it: at the end of each look it spins for up to a millisecond. With 200 idle
//! members that was 3.5 ms of each second and member, more than all their other threads together.
//! A look here ends just after the wait below it does, and so without a spin.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::config::FromClientConfigAndContext;
use rdkafka::error::{KafkaError as Error, KafkaResult};
use rdkafka::producer::{BaseProducer, ProducerContext};

/// How long one look lasts. A report ends no look, it is served in it. librdkafka waits for the
/// whole milliseconds that are left of it, here a thousand, and wakes some 50 us after them. With a
/// whole second it would wait for 999 ms, and rdkafka would spin for the last one.
const LOOK: Duration = Duration::from_micros(1_000_020);

/// A producer and its thread, which ends, and with it the client, within a look after the drop.
pub(super) struct Polled<C: ProducerContext + 'static> {
    producer: Arc<BaseProducer<C>>,
    stop: Arc<AtomicBool>,
}

impl<C: ProducerContext + 'static> Polled<C> {
    /// Starts the client and the thread.
    ///
    /// # Errors
    /// The client refuses its configuration, or the system a thread.
    pub(super) fn start(config: &ClientConfig, context: C) -> KafkaResult<Self> {
        let producer = Arc::new(BaseProducer::from_config_and_context(config, context)?);
        let stop = Arc::new(AtomicBool::new(false));
        let (polled, stopped) = (Arc::clone(&producer), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("delivery reports".to_owned());
        let _ends_after_the_drop = thread
            .spawn(move || {
                while !stopped.load(Ordering::Relaxed) {
                    polled.poll(LOOK);
                }
            })
            .map_err(|error| Error::ClientCreation(error.to_string()))?;
        Ok(Self { producer, stop })
    }
}

impl<C: ProducerContext + 'static> std::ops::Deref for Polled<C> {
    type Target = BaseProducer<C>;

    fn deref(&self) -> &BaseProducer<C> {
        &self.producer
    }
}

impl<C: ProducerContext + 'static> Drop for Polled<C> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}
