//! The windows of a run as a collector got them, and the records that lead there, compared with
//! what the journal says of the whole, without the code that cut them.

use std::collections::{BTreeMap, BTreeSet};

use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::trace::v1::{Span, span::Link};
use tandem::journal::Header;
use tandem::time::Mono;
use tandem::timeline::{Finding, Findings, Interval, Timeline};

/// The intervals of a scope, a group and a role, from when to when.
type Intervals = BTreeMap<(String, String, String), Vec<[u64; 2]>>;
/// Gaps, or overlaps.
type Pick = fn(&Findings) -> &Vec<Finding>;
type Ids<'a> = BTreeMap<(&'a [u8], &'a [u8]), &'a Span>;

/// An attribute as text; nothing where there is none.
fn of(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|attribute| attribute.key == key);
    match found.and_then(|one| one.value.as_ref()).and_then(|value| value.value.as_ref()) {
        None => String::new(),
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::BoolValue(truth)) => truth.to_string(),
        Some(Value::IntValue(number)) => number.to_string(),
        Some(other) => panic!("{key}: {other:?}"),
    }
}

/// An attribute of a span.
pub fn shown(span: &Span, key: &str) -> String {
    of(&span.attributes, key)
}

/// The wall clock of an instant of the run, in nanoseconds.
pub fn wall(header: &Header, at: Mono) -> u64 {
    u64::try_from(header.zero_wall.0).unwrap() * 1_000_000 + at.0 - header.zero.0
}

/// The roots of all windows, in order.
pub fn windows(spans: &[Span]) -> Vec<&Span> {
    let mut roots: Vec<_> = spans.iter().filter(|span| span.name == "up.window").collect();
    roots.sort_by_key(|root| shown(root, "neli.window").parse::<u32>().unwrap());
    roots
}

/// Windows follow each other and fill `judged`; what they hold is within them, leads to what there
/// is, and is what the journal says. How many gaps it says there were.
pub fn windows_agree(
    header: &Header,
    timeline: &Timeline,
    judged: Interval,
    spans: &[Span],
) -> usize {
    let ids: Ids<'_> =
        spans.iter().map(|span| ((&span.trace_id[..], &span.span_id[..]), span)).collect();
    assert_eq!(ids.len(), spans.len(), "no id is given twice");
    let roots = windows(spans);
    follow_each_other(header, judged, &roots, &ids);
    let traces: BTreeMap<&[u8], &Span> =
        roots.iter().map(|root| (&root.trace_id[..], *root)).collect();
    for span in spans {
        let Some(root) = traces.get(&span.trace_id[..]).filter(|root| **root != span) else {
            continue;
        };
        assert_eq!(span.parent_span_id, root.span_id, "{span:?}");
        let [from, until] = [span.start_time_unix_nano, span.end_time_unix_nano];
        let [began, ended] = [root.start_time_unix_nano, root.end_time_unix_nano];
        assert!(began <= from && from < until && until <= ended, "{span:?} in {root:?}");
        assert_eq!(shown(span, "neli.window"), shown(root, "neli.window"), "{span:?}");
        // What was cut says so, and nothing else does but by chance.
        let cut = |key| shown(span, key) == "true";
        assert!(!cut("neli.began_before") || from == began, "{span:?}");
        assert!(!cut("neli.goes_on") || until == ended, "{span:?}");
        if span.name == "leadership" {
            leads_back(span, root, &ids);
        }
    }
    let mut count = 0;
    let picks: [(&str, Pick); 2] =
        [("leadership.gap", |found| &found.gaps), ("leadership.overlap", |found| &found.overlaps)];
    for (name, pick) in picks {
        let wanted = expected(header, timeline, judged, pick);
        assert_eq!(put_together(spans, name), wanted, "{name}");
        if name == "leadership.gap" {
            count = wanted.values().map(Vec::len).sum();
        }
    }
    count
}

/// Each record leads to a span that there is: to the root of the window in which it happened, or to
/// the run. How many lead to windows.
pub fn records_lead(spans: &[Span], records: &[LogRecord]) -> usize {
    let ids: Ids<'_> =
        spans.iter().map(|span| ((&span.trace_id[..], &span.span_id[..]), span)).collect();
    let last = windows(spans).last().map(|root| root.end_time_unix_nano);
    let leads_to_window = |record: &&LogRecord| {
        let found = ids.get(&(&record.trace_id[..], &record.span_id[..]));
        let root = found.unwrap_or_else(|| panic!("{record:?} leads nowhere"));
        let [from, until] = [root.start_time_unix_nano, root.end_time_unix_nano];
        let (at, is_window) = (record.time_unix_nano, root.name == "up.window");
        let ends = !is_window || last == Some(until);
        assert!(from <= at && (at < until || ends && at == until), "{record:?} in {root:?}");
        assert!(is_window || root.name == "chaos.run", "{record:?} in {root:?}");
        assert_eq!(of(&record.attributes, "neli.window"), shown(root, "neli.window"));
        is_window
    };
    records.iter().filter(leads_to_window).count()
}

fn follow_each_other(header: &Header, judged: Interval, roots: &[&Span], ids: &Ids<'_>) {
    assert!(!roots.is_empty(), "there are windows");
    let mut from = wall(header, judged.from);
    for (number, root) in (1_usize..).zip(roots) {
        assert_eq!(shown(root, "neli.window"), number.to_string(), "no window is missing");
        assert_eq!(root.start_time_unix_nano, from, "there is no hole before {number}");
        from = root.end_time_unix_nano;
        assert!(root.parent_span_id.is_empty(), "{root:?}");
        let related = |relation: &str| {
            let links =
                root.links.iter().filter(|link| of(&link.attributes, "neli.link") == relation);
            links.map(|link| target(link, ids)).collect::<Vec<_>>()
        };
        let [run] = related("part_of")[..] else { panic!("{root:?}") };
        assert_eq!(run.name, "chaos.run");
        let before = number.checked_sub(2).map(|place| roots[place]);
        assert_eq!(related("continues"), before.into_iter().collect::<Vec<_>>());
    }
    assert_eq!(from, wall(header, judged.until), "the last ends with what is judged");
}

/// Where a link leads: to something that there is.
fn target<'a>(link: &Link, ids: &Ids<'a>) -> &'a Span {
    let found = ids.get(&(&link.trace_id[..], &link.span_id[..]));
    found.unwrap_or_else(|| panic!("{link:?} leads nowhere"))
}

/// A term that began in an earlier window leads to itself there, any other to one before it.
fn leads_back(span: &Span, root: &Span, ids: &Ids<'_>) {
    let place = |span: &Span| ["neli.group", "neli.role"].map(|key| shown(span, key));
    let term =
        |span: &Span| ["neli.member", "neli.incarnation", "neli.term"].map(|key| shown(span, key));
    let is_first = shown(root, "neli.window") == "1";
    let came = shown(span, "neli.began_before") == "true";
    assert!(span.links.len() <= 1, "{span:?}");
    assert!(span.links.len() == 1 || is_first || !came, "{span:?}");
    for link in &span.links {
        let earlier = target(link, ids);
        assert_eq!((earlier.name.as_str(), place(earlier)), ("leadership", place(span)));
        let continues = term(earlier) == term(span);
        assert_eq!(continues, came && !is_first, "{span:?}");
        let relation = of(&link.attributes, "neli.link");
        assert_eq!(relation, if continues { "continues" } else { "follows" });
        if continues {
            assert_eq!(earlier.end_time_unix_nano, span.start_time_unix_nano, "{span:?}");
            assert_eq!(shown(earlier, "neli.goes_on"), "true", "{earlier:?}");
        }
    }
}

/// All that is sure of one name, with what was cut at borders in one piece again.
fn put_together(spans: &[Span], name: &str) -> Intervals {
    let mut pieces: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    let sure = |span: &&Span| span.name == name && shown(span, "neli.unknown") == "false";
    for span in spans.iter().filter(sure) {
        let key = ["neli.scope", "neli.group", "neli.role"].map(|key| shown(span, key));
        let cut = ["neli.began_before", "neli.goes_on"].map(|key| shown(span, key) == "true");
        let one = (span.start_time_unix_nano, span.end_time_unix_nano, cut);
        assert!(pieces.entry(key.into()).or_default().insert(one), "reported twice: {span:?}");
    }
    let mut findings = Intervals::new();
    for (key, pieces) in pieces {
        let list = findings.entry(key).or_default();
        let mut open = false;
        for (from, until, [came, goes_on]) in pieces {
            match list.last_mut() {
                Some([_, last]) if open && came && *last == from => *last = until,
                _ => list.push([from, until]),
            }
            open = goes_on;
        }
    }
    findings
}

/// What the journal says.
fn expected(header: &Header, timeline: &Timeline, judged: Interval, pick: Pick) -> Intervals {
    let mut findings = Intervals::new();
    let mut take = |scope: &str, group: &str, found: &[Finding]| {
        for one in found {
            let span = one.span.intersect(judged);
            for role in one.roles.roles() {
                let role = header.plan.roles.name(role).unwrap().to_string();
                let list = findings.entry((scope.into(), group.into(), role)).or_default();
                list.push([span.from, span.until].map(|at| wall(header, at)));
            }
        }
    };
    for (name, line) in &timeline.groups {
        take("group", name.as_str(), pick(&line.findings));
    }
    take("joint", "", pick(&timeline.joint));
    findings.values_mut().for_each(|list| list.sort_unstable());
    findings
}
