//! The text of a transcript: read, played, written again.

use std::collections::BTreeMap;

use tandem::groups::CoordinatorSettings;
use tandem::time::Mono;

use super::line::{self, Client, Line};
use super::{Answer, Subject, consumer};

/// The subjects that an answer may be marked for, as in `kafka: (waits)`. The core and the
/// embedded broker are `here`.
const SUBJECTS: [&str; 4] = ["here", "kafka", "kafka-4.3.0", "kafka-3.9.1"];
const WAITS: &str = "(waits)";

/// Plays a transcript and returns it with the answers of this subject. Answers that are marked for
/// others stay where they are, as long as this one's are what is written.
pub fn play(text: &str, make: impl Fn(CoordinatorSettings) -> Box<dyn Subject>) -> String {
    let rules = text.lines().find(|line| line.starts_with("settings"));
    let rules = rules.map_or_else(|| Line::parse("settings"), Line::parse);
    let mut subject = make(line::settings(&rules));
    let mut clients: BTreeMap<String, Client> = BTreeMap::new();
    let mut at = Mono::ZERO;
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(written) = lines.next() {
        out.push_str(written);
        out.push('\n');
        if written.starts_with('#') || written.is_empty() || written.starts_with("settings") {
            continue;
        }
        let line = Line::parse(written);
        assert_eq!(lines.next(), Some("----"), "after {written}");
        let mut block = Vec::new();
        while let Some(answer) = lines.next_if(|line| !line.is_empty()) {
            block.push(answer);
        }
        out.push_str("----\n");
        let expected = expected(&block, &subject.names());
        let next = line.at(subject.is_real()).unwrap_or(at);
        assert!(next >= at, "time goes back at {written}");
        at = next;
        subject.ask(at, line.client, line::request(&line, &clients));
        let mut answers = subject.answers(expected.len());
        if line.text("show", "") == "counts" {
            answers.iter_mut().for_each(|(_, said)| said.line = consumer::counted(&said.line));
        }
        // Those who waited are answered in no particular order.
        answers.sort_by_key(|(name, said)| (name != line.client, name.clone(), said.line.clone()));
        let said = remember(&mut clients, answers);
        let said: Vec<_> = said.iter().flat_map(|answer| answer.lines()).collect();
        let shown = match said.is_empty() {
            _ if said == expected && !block.is_empty() => block,
            true => vec![WAITS],
            false => said,
        };
        out.extend(shown.iter().flat_map(|line| [line, "\n"]));
    }
    for (name, answer) in subject.answers(0) {
        out.push_str(&format!("too late for {name}: {}\n", answer.line));
    }
    out
}

/// The answers that are written for a subject of these names.
fn expected<'a>(block: &[&'a str], names: &[String]) -> Vec<&'a str> {
    let own = |line: &&'a str| match line.split_once(": ") {
        Some((mark, rest)) if SUBJECTS.contains(&mark) => {
            names.iter().any(|name| name == mark).then_some(rest)
        }
        Some(_) | None => Some(*line),
    };
    block.iter().filter_map(own).filter(|line| *line != WAITS).collect()
}

/// Clients go on with what they were given; the lines are returned.
fn remember(clients: &mut BTreeMap<String, Client>, answers: Vec<(String, Answer)>) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, answer) in answers {
        let client = clients.entry(name).or_default();
        client.member_id = answer.member_id.unwrap_or_else(|| client.member_id.clone());
        client.generation = answer.generation.unwrap_or(client.generation);
        lines.push(answer.line);
    }
    lines
}

/// The first lines that differ, if any do.
pub fn first_difference(written: &str, played: &str) -> Option<String> {
    let mut numbered = (1..).zip(written.lines().zip(played.lines()));
    let found = numbered.find(|(_, (one, other))| one != other);
    match found {
        Some((number, (one, other))) => Some(format!("{number}: {one}\n  now: {other}")),
        None => (written.lines().count() != played.lines().count()).then(|| "length".to_owned()),
    }
}
