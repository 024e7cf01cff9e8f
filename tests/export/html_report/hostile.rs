//! Names come from users' files, reasons from brokers: no page may take them for markup.

use tandem::observation::{FaultClass, Outcome, RunEvent};
use tandem::timeline::Timeline;
use tandem::verdict::Report;

use crate::html_report::made::{Fixture, data};
use support::facts::{Story, at, brief, failed, fault, plan};

/// What would break out of text, an attribute, a script element, a comment or a style.
pub const HOSTILE: [&str; 6] = [
    "</script><script>window.struck=1</script>",
    "\"><img src=x onerror=window.struck=1>",
    "' onmouseover='window.struck=1",
    "<!--<script>",
    "</style></title><svg onload=window.struck=1>",
    "\u{202e}txt.\u{2028}\u{0}&lt;b&gt;{{x}}${x}",
];

/// A run in which every text from outside is hostile.
pub fn fixture() -> Fixture {
    let mut story = Story::default();
    let evil = HOSTILE.join(" ");
    story.started("p1-1.1", 10).serves("p1-1.1", 0, 1, [100, 2_000]);
    story.asked("p1-1.1", 2_000, "1.k", &evil).died("p1-1.1", 2_003).began(500, 1);
    let target = RunEvent::FaultAsked {
        fault: fault("1.b"),
        kind: "broker".to_owned(),
        class: FaultClass::Brokers,
        broker: Some(evil.clone()),
        cluster: None,
    };
    story.run(2_100, target);
    story.run(2_200, failed("1.b", &evil, &evil));
    story.ended(4_000, 1);
    story.run(5_000, RunEvent::Ended { how: Outcome::Broken, why: Some(evil.clone()) });
    let plan = plan(2, &[("p1", 1, 2)]);
    let mut brief = brief(&plan, 1, &[]);
    brief.experiment.clone_from(&evil);
    let timeline = Timeline::compute(&plan, &story.facts);
    let report = Report::of(&plan, &brief, 42, at(10), &timeline);
    Fixture { plan, timeline, report, zero: at(10), run: evil }
}

#[test]
fn no_text_of_others_is_taken_for_markup() {
    let page = fixture().page();
    // In the data quotes are as JSON has them; nothing there can end the element.
    let (markup, rest) = page.split_once("<script type=\"application/json\"").unwrap();
    for text in &HOSTILE[..5] {
        assert!(!markup.contains(text), "as it is: {text}");
    }
    for tag in ["<script", "<img", "<svg onload", "<!--"] {
        assert!(!markup.contains(tag), "{tag} came from a file");
    }
    assert_eq!(rest.matches("</script").count(), 2, "the data and the script end once each");
    assert_eq!(page.matches("<style").count(), 1);
    assert_eq!(page.matches("</style").count(), 1);
    assert!(!page.contains('\u{202e}') && !page.contains('\0'), "nothing turns or ends the text");
    let faults = data(&page)["faults"].as_array().unwrap().clone();
    let kept = HOSTILE.join(" ").replace('\u{202e}', "\u{fffd}");
    assert!(faults.iter().any(|fault| fault["kind"] == kept.as_str()), "the data keeps the rest");
}
