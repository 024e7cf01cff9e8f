//! `tandem events`: what happened to a topology that is kept up, and what happens.

use std::io::{self, Write};

use super::running::{Found, RunningArgs, status};
use super::topology_args::runtime;
use super::{Failure, Output};
use crate::live_view::{Event, line};
use crate::status_socket::{Ask, Reply, Request, VERSION};
use crate::verdict::Exit;

/// What happened to a topology that `tandem up` keeps up: deaths, leaders, gaps.
///
/// The latest thousand events, one a line, in the order of their times; with --follow those to come
/// as well, until it ends, in the order in which they become known. A line is `TIME WORD KEY=VALUE
/// ...`; words and keys stand in topologies/README.md. As JSON all stand in the order of `seq`.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem events
  tandem events --follow -o json

Exit codes: 0 all was told; 1 nobody could be asked, or it broke off, or too little was read for too
long; 2 usage or invalid file.")]
pub(super) struct EventsArgs {
    #[command(flatten)]
    running: RunningArgs,
    /// Go on with those to come.
    #[arg(long)]
    follow: bool,
    /// How to print them; as JSON, an object a line.
    #[arg(short = 'o', long = "output", value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// Asks, and prints events as they come.
pub(super) fn run(args: &EventsArgs) -> Result<Exit, Failure> {
    runtime()?.block_on(tell(args))
}

async fn tell(args: &EventsArgs) -> Result<Exit, Failure> {
    let failed = |error: crate::status_socket::StatusError| Failure::new(Exit::Unable, &error);
    let Found { endpoint, .. } = args.running.find().await?;
    let request = Request { tandem: VERSION, ask: Ask::Events, follow: args.follow };
    let mut answers = endpoint.ask(request).await.map_err(failed)?;
    let asked = status(&endpoint, &mut answers).await.map_err(failed)?;
    // Those up to now are there all at once.
    let now = match args.output {
        Output::Text => asked.event,
        Output::Json => 0,
    };
    let mut past = Past { now, events: Vec::new() };
    loop {
        let said = answers.next().await.map_err(failed)?;
        let (events, ends) = match said {
            Reply::Event(event) => (past.take(event), None),
            Reply::End { .. } => (past.rest(), Some(Ok(Exit::Pass))),
            Reply::Dropped { missed } => {
                let why = format!("{missed} events came faster than they were read; ask again");
                (past.rest(), Some(Err(Failure::text(Exit::Unable, why))))
            }
            Reply::Status(_) | Reply::Refused { .. } => (Vec::new(), None),
        };
        for event in events {
            match print(args.output, &event) {
                // Who stopped reading has seen enough.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Exit::Pass),
                printed => printed.map_err(|error| Failure::new(Exit::Unable, &error))?,
            }
        }
        if let Some(ends) = ends {
            return ends;
        }
    }
}

/// Events that had happened when they were asked for. Some become known later than others that
/// happened after them: a gap, once it is final.
struct Past {
    /// The number of the last of them.
    now: u64,
    events: Vec<Event>,
}

impl Past {
    /// Takes the next event; those that may be printed now, in their order.
    fn take(&mut self, event: Event) -> Vec<Event> {
        let number = event.seq;
        self.events.push(event);
        if number < self.now { Vec::new() } else { self.rest() }
    }

    /// Those that wait, in the order of their times.
    fn rest(&mut self) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.events);
        events.sort_by_key(|event| (event.wall, event.t, event.seq));
        events
    }
}

/// Prints one event; whoever reads has it when this returns.
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
    fn what_is_past_stands_in_the_order_of_its_times_and_the_rest_as_it_comes() {
        let mut past = Past { now: 3, events: Vec::new() };
        let mut order = Vec::new();
        for (seq, t) in [(1, 10), (2, 30), (3, 20), (4, 50), (5, 40)] {
            order.extend(past.take(event(seq, t)).into_iter().map(|event| event.seq));
        }
        order.extend(past.rest().into_iter().map(|event| event.seq));
        assert_eq!(order, [1, 3, 2, 4, 5]);
        // One that ends before all of them came keeps none back.
        let mut past = Past { now: 9, events: Vec::new() };
        assert!(past.take(event(1, 20)).is_empty() && past.take(event(2, 10)).is_empty());
        assert_eq!(past.rest().len(), 2);
    }
}
