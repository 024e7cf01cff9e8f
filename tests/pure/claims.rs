//! What may be claimed: every form of it is read and written back, a wrong word is named; and the
//! numbers against which claims are held.

use std::time::Duration;

use proptest::prelude::*;
use support::cases::cases;
use tandem::verdict::{Assertion, Distribution, Samples, ms};

fn parse(text: &str) -> Result<String, (usize, String)> {
    let parsed = text.parse::<Assertion>();
    parsed.map(|claim| claim.to_string()).map_err(|error| (error.offset, error.message))
}

#[test]
fn every_form_of_an_assertion_is_read_and_written_back() {
    for subject in ["joint", "group", "group.p1", "group.a.b", "group.gap"] {
        for measure in ["gap", "overlap", "takeover"] {
            for statistic in ["min", "p50", "p95", "p99", "max"] {
                for sign in ["==", "<=", "<", ">=", ">"] {
                    for limit in ["0ms", "1m 30s", "bound.joint.gap", "bound.group.overlap"] {
                        let text = format!("{subject}.{measure}.{statistic} {sign} {limit}");
                        let joint = subject == "joint";
                        let legal = !(joint && (measure == "takeover" || limit.contains("group")));
                        assert_eq!(parse(&text).is_ok(), legal, "{text}");
                        if legal {
                            assert_eq!(parse(&text), Ok(text.clone()));
                            let json = serde_json::to_string(&text).unwrap();
                            let read: Assertion = serde_json::from_str(&json).unwrap();
                            assert_eq!(serde_json::to_string(&read).unwrap(), json);
                        }
                    }
                }
            }
        }
    }
    assert_eq!(parse("  joint.gap.count==0 "), Ok("joint.gap.count==0".to_owned()));
}

/// A claim, a caret below the word that is wrong, and what is said of it.
const WRONG: &str = "
group.gap.p90 <= 1s
          ^ unknown statistic 'p90': one of count, min, p50, p95, p99, max
group.gap.maxx <= 1s
          ^ unknown statistic 'maxx': one of count, min, p50, p95, p99, max (did you mean 'max'?)
joint.gaps.max == 0s
      ^ unknown measure 'gaps': one of gap, overlap, takeover (did you mean 'gap'?)
  groups.gap.max == 0s
  ^ unknown subject 'groups': one of joint, group (did you mean 'group'?)
joint.gap.max = 0s
              ^ unknown comparison '=': one of ==, <=, >=, <, >
joint.gap.max != 0s
              ^ unknown comparison '!=': one of ==, <=, >=, <, >
joint.gap.max == 0
                 ^ \"0\" has no unit: write 0ms, 0s or 0m
joint.gap.count == 0ms
                   ^ a count is compared with a whole number, not with '0ms'
joint.gap.max ==
                ^ a limit is missing: a duration as 250ms, a count, or bound.group.gap
joint.gap.max
             ^ a comparison is missing: one of ==, <=, <, >=, >, as in joint.gap.max == 0ms
gap.max < 1s
^ 'gap.max' is not of the form subject.measure.statistic, as in joint.gap.max
max < 1s
^ 'max' is not of the form subject.measure.statistic, as in joint.gap.max
joint.takeover.max < 1s
      ^ a takeover happens within a group: write group.takeover, or joint.gap for all groups
joint.gap.max <= bound.group.gap
                       ^ what is joint belongs to no group: compare it with bound.joint
group.gap.max <= bound.group.takeover
                             ^ unknown bound 'takeover': one of gap, overlap
group.gap.max <= bound.gap
                 ^ 'bound.gap' is not a bound: write bound.joint.gap or bound.group.overlap
group.p 1.gap.max < 1s
      ^ a group name consists of letters, digits, '.', '_' and '-', not ' '
";

#[test]
fn a_wrong_word_is_reported_with_its_position_and_a_hint() {
    let lines: Vec<&str> = WRONG.trim_matches('\n').lines().collect();
    for pair in lines.chunks(2) {
        let (offset, message) = pair[1].split_once("^ ").unwrap();
        let wanted = (offset.len(), message.to_owned());
        assert_eq!(parse(pair[0]), Err(wanted), "{}", pair[0]);
    }
}

proptest! {
    #![proptest_config(cases(0x5EED_0002, 256))]

    #[test]
    fn quantiles_are_nearest_rank(counted in prop::collection::vec((0u64..50, 1u64..4), 1..40)) {
        let ms = |(number, times)| (Duration::from_millis(number), times);
        let samples: Samples = counted.iter().copied().map(ms).collect();
        // What was found several times is as many numbers.
        let each = |(number, times): (u64, u64)| (0..times).map(move |_| number);
        let mut numbers: Vec<u64> = counted.into_iter().flat_map(each).collect();
        numbers.sort_unstable();
        for percent in [1, 50, 95, 99, 100] {
            // The least sample that so many of a hundred do not exceed.
            let enough = |least: &&u64| {
                let count = numbers.iter().filter(|number| number <= least).count();
                count * 100 >= usize::try_from(percent).unwrap() * numbers.len()
            };
            let wanted = numbers.iter().find(enough).copied().map(Duration::from_millis);
            prop_assert_eq!(samples.quantile(percent), wanted);
        }
    }

    #[test]
    fn milliseconds_keep_every_nanosecond(ns in 0u64..1 << 52) {
        let text = serde_json::to_string(&ms(Duration::from_nanos(ns))).unwrap();
        let (whole, part) = text.split_once('.').unwrap();
        prop_assert_eq!(format!("{whole}{part:0<6}").parse::<u64>().unwrap(), ns);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[jointgapmxcuver.p059=<> ms]{0,30}") {
        if let Err(error) = text.parse::<Assertion>() {
            prop_assert!(text.is_char_boundary(error.offset), "{}", error);
        }
    }
}

#[test]
fn an_empty_distribution_is_null() {
    let empty = Samples::default().distribution();
    assert_eq!(empty, Distribution::default());
    let json = serde_json::to_value(empty).unwrap();
    assert_eq!(json["count"], 0);
    for field in ["min_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms"] {
        assert!(json[field].is_null() && json.get(field).is_some(), "{field}");
    }
}
