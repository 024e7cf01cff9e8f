//! `tandem events`: prints the events of a topology that is kept up.

use std::io::{self, Write};

use super::running::{Found, RunningArgs, status};
use super::topology_args::runtime;
use super::{Failure, Output};
use crate::live_view::{Event, line};
use crate::status_socket::{Ask, Reply, Request, VERSION};
use crate::verdict::Exit;

/// Print the events of a topology that `tandem up` keeps up: deaths, leaders, gaps.
///
/// Prints the latest thousand events, one per line, ordered by time. With --follow it then prints
/// new events as they become known, until the run ends. A line is `TIME WORD KEY=VALUE ...`;
/// topologies/README.md lists words and keys. With -o json, all events are ordered by `seq`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem events
  tandem events --follow -o json

Exit codes: 0 all events were printed; 1 no `tandem up` could be asked, the connection broke, or the
events were read too slowly; 2 usage or invalid file.")]
pub(super) struct EventsArgs {
    #[command(flatten)]
    running: RunningArgs,
    /// Print new events, too, as they happen.
    #[arg(long)]
    follow: bool,
    /// How to print them; as JSON, one object per line.
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// Asks for events, and prints them as they come.
pub(super) fn run(args: &EventsArgs) -> Result<Exit, Failure> {
    runtime()?.block_on(print_all(args))
}

async fn print_all(args: &EventsArgs) -> Result<Exit, Failure> {
    let failed = |error: crate::status_socket::StatusError| Failure::new(Exit::Unable, &error);
    let Found { endpoint, .. } = args.running.find().await?;
    let request = Request { tandem: VERSION, ask: Ask::Events, follow: args.follow };
    let mut answers = endpoint.ask(request).await.map_err(failed)?;
    let asked = status(&endpoint, &mut answers).await.map_err(failed)?;
    // As text, the past events are collected up to this one and sorted by time.
    let now = match args.output {
        Output::Text => asked.event,
        Output::Json => 0,
    };
    let mut past = Past { now, events: Vec::new() };
    loop {
        let reply = answers.next().await.map_err(failed)?;
        let (events, ends) = match reply {
            Reply::Event(event) => (past.take(event), None),
            Reply::End { .. } => (past.rest(), Some(Ok(Exit::Pass))),
            Reply::Dropped { missed } => {
                let why = format!(
                    "{missed} events were dropped because they were read too slowly; ask again"
                );
                (past.rest(), Some(Err(Failure::text(Exit::Unable, why))))
            }
            Reply::Status(_) | Reply::Refused { .. } => (Vec::new(), None),
        };
        for event in events {
            match print(args.output, &event) {
                // A closed pipe (`| head`) is not an error.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Exit::Pass),
                printed => printed.map_err(|error| Failure::new(Exit::Unable, &error))?,
            }
        }
        if let Some(ends) = ends {
            return ends;
        }
    }
}

/// Sorts past events by time. Some, such as a gap, become known later than events that happened
/// after them.
struct Past {
    /// The sequence number of the last past event.
    now: u64,
    events: Vec<Event>,
}

impl Past {
    /// Takes the next event. Returns the events to print now, in order.
    fn take(&mut self, event: Event) -> Vec<Event> {
        let number = event.seq;
        self.events.push(event);
        if number < self.now { Vec::new() } else { self.rest() }
    }

    /// The collected events, ordered by time.
    fn rest(&mut self) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.events);
        events.sort_by_key(|event| (event.wall, event.t, event.seq));
        events
    }
}

/// Prints one event, and flushes it.
pub(super) fn print(output: Output, event: &Event) -> io::Result<()> {
    let mut text = match output {
        Output::Text => line(event),
        Output::Json => serde_json::to_string(event)?,
    };
    text.push('\n');
    let mut out = super::console::out();
    out.write_all(text.as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::Past;
    use crate::live_view::{Event, Happening};
    use crate::time::{Mono, Wall};

    fn event(seq: u64, t: u64) -> Event {
        let what = Happening::Missed { facts: 1 };
        Event { seq, t: Mono(t), wall: Wall(0), published: Mono(t), what }
    }

    #[test]
    fn past_events_are_ordered_by_time_and_new_ones_come_as_they_are() {
        let mut past = Past { now: 3, events: Vec::new() };
        let mut order = Vec::new();
        for (seq, t) in [(1, 10), (2, 30), (3, 20), (4, 50), (5, 40)] {
            order.extend(past.take(event(seq, t)).into_iter().map(|event| event.seq));
        }
        order.extend(past.rest().into_iter().map(|event| event.seq));
        assert_eq!(order, [1, 3, 2, 4, 5]);
        // If the stream ends early, the collected events are not lost.
        let mut past = Past { now: 9, events: Vec::new() };
        assert!(past.take(event(1, 20)).is_empty() && past.take(event(2, 10)).is_empty());
        assert_eq!(past.rest().len(), 2);
    }
}
