//! Plans as people read them, what they warn of, and that no text makes their reader fall over.

use proptest::prelude::*;
use support::cases::cases;
use tandem::chaos::experiment;
use tandem::topology::{Assignor, GroupProtocol, Mode, OnDeath, Page, Plan, plan};
use tandem::yaml::{FileError, Problem};

const DUO: &str = include_str!("../../topologies/duo.yaml");
const SHARED: &str = include_str!("../../topologies/shared-topic.yaml");
const TWIN: &str = include_str!("../../chaos/twin-kill.yaml");

fn read(text: &str) -> Plan {
    plan(text, &[]).unwrap_or_else(|problems| panic!("{}", FileError::new("x", text, problems)))
}

#[test]
fn a_plan_is_a_page() {
    insta::assert_snapshot!("duo", Page(&read(DUO)));
    insta::assert_snapshot!("shared-topic", Page(&read(SHARED)));
}

#[test]
fn a_plan_is_written_as_it_is_read() {
    for text in [DUO, SHARED] {
        let plan = read(text);
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
    }
}

#[test]
fn a_plan_warns_of_unwise_settings() {
    let text = "
version: 1
name: x
roles: {count: 9, prefix: r-}
clusters:
  a: {bootstrap: 'localhost:9092'}
  b: {bootstrap: '127.0.0.1:9092, k2:9092'}
  c: embedded
  d: embedded
groups:
  idle: {cluster: c, partitions: 2, members: 3, host: alpha}
  wide: {cluster: c, partitions: 19, host: alpha, restart: {after: 1s}}
  short: {cluster: a, session: 5s, threshold: 5s 1ms, consumer_group: Aa}
  same: {cluster: b, session: 6s, consumer_group: BB}
";
    insta::assert_snapshot!("warnings", read(text).warnings.join("\n"));
}

#[test]
fn a_plan_says_where_librdkafka_speaks_for_members() {
    let page = |set: &str| {
        let plan = plan(DUO, &[set.parse().unwrap()]).unwrap();
        Page(&plan).to_string()
    };
    let line = "  consumer group  duo-p1 (roundrobin, joined by librdkafka)\n";
    assert!(page("groups.p1.membership=librdkafka").contains(line));
    assert!(!page("groups.p2.membership=librdkafka").contains(line));
    assert!(!page("defaults.membership=own").contains("joined by"));
}

#[test]
fn a_profile_is_the_settings_that_it_names_and_a_setting_goes_before_it() {
    let text = |defaults: &str| {
        let head = "version: 1\nname: t\nroles: [r]\nclusters: {a: embedded}\n";
        format!("{head}groups: {{p: {{cluster: a}}}}\ndefaults: {defaults}\n")
    };
    let pace = |defaults| read(&text(defaults)).groups.remove("p").unwrap().pace;
    let published = pace("{membership: librdkafka, handover: false}");
    assert_eq!(pace("{profile: paper}"), published);
    assert_ne!(pace("{profile: tandem}"), published);
    assert_eq!(pace("{profile: tandem}"), pace("{}"));
    assert_eq!((published.on_death, published.suspect), (OnDeath::Expire, None));
    assert_eq!((published.mode, published.handover), (Mode::NonExclusive, false));
    assert_eq!(published.assignor, Assignor::Roundrobin);
    assert_eq!(published.protocol, GroupProtocol::Classic);
    // One line, for every group that does not say otherwise.
    let another = "{p: {cluster: a}, q: {cluster: a, profile: tandem}}";
    let two = text("{profile: paper}").replace("{p: {cluster: a}}", another);
    let paces = read(&two).groups.into_values().map(|group| group.pace).collect::<Vec<_>>();
    assert!(!paces[0].handover && paces[1].handover, "{paces:?}");
    let own = pace("{membership: own, handover: false}");
    assert_eq!(pace("{profile: paper, membership: own}"), own);
}

#[test]
fn sharing_a_topic_is_sharing_the_beacons_but_never_to_the_point_of_silence() {
    let beacons = |threshold: &str| {
        let set = format!("defaults.threshold={threshold}").parse().unwrap();
        let plan = plan(SHARED, &[set]).unwrap();
        plan.groups.values().map(|group| group.pace.beacon.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(beacons("3s"), ["200ms", "200ms"]);
    assert_eq!(beacons("1200ms"), ["200ms", "200ms"]);
    let fast = "defaults={session: 300ms, threshold: 450ms}".parse().unwrap();
    let plan = plan(SHARED, &[fast]).unwrap();
    assert!(plan.groups.values().all(|group| group.pace.beacon.to_string() == "150ms"));
}

/// Every problem has a position, and can be shown.
fn shown(text: &str, problems: Vec<Problem>) -> Result<(), TestCaseError> {
    prop_assert!(!problems.is_empty());
    prop_assert!(problems.iter().all(|problem| problem.origin.is_some()));
    let error = FileError::new("x.yaml", text, problems).to_string();
    prop_assert!(error.starts_with("x.yaml:"), "{}", error);
    Ok(())
}

proptest! {
    #![proptest_config(cases(0x5EED_0023, 256))]

    #[test]
    fn no_text_makes_a_reader_panic(
        edits in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::sample::select(
                vec![
                    ":", "\n", " ", "-", "{", "}", "[", "]", ",", "&a ", "*a", "\"", "'", "|", ">",
                    "!", "!!binary ", "<<: ", "? ", "#", "%", "\t", "\r", "\0", "\u{feff}", "ä",
                    "0", "99999999999999999999999999999999999999999", "---\n", "...\n", "1e999",
                    ".nan",
                ],
            )),
            1..4,
        ),
        which in 0usize..3,
    ) {
        let original = [DUO, SHARED, TWIN].into_iter().nth(which).unwrap();
        let mut chars: Vec<String> = original.chars().map(String::from).collect();
        for (at, edit) in edits {
            *at.get_mut(&mut chars) = edit.to_owned();
        }
        let text = chars.concat();
        if let Err(problems) = plan(&text, &[]) {
            shown(&text, problems)?;
        }
        if let Err(problems) = experiment(&text) {
            shown(&text, problems)?;
        }
    }
}
