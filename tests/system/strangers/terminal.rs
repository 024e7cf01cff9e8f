//! What a journal says, which brokers and members wrote, does not steer the terminal that shows it.

use std::process::Command;

use support::experiment::{output, tandem};
use support::facts::{brief, failed, plan};
use support::recorded::{kills, record};

/// Retitles the window, clears the screen, and hides what follows.
const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[8m\u{9b}1A\rPASS\u{202e}";

fn steers(text: &str) -> bool {
    text.chars().any(|c| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}')
}

#[test]
fn a_report_escapes_text_from_brokers() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(1, &[("p1", 1, 2), ("p2", 1, 1)]);
    let mut story = kills(&[1_000]);
    story.run(12_000, failed("1.x", "broker", HOSTILE));
    record(folder.path(), &plan, &brief(&plan, 1, &[]), &story.facts);
    for kind in ["text", "json"] {
        let said = output(tandem(folder.path()).args(["report", "-o", kind]).arg(folder.path()));
        let text = String::from_utf8(said.stdout).unwrap();
        assert!(text.contains("\\u001b]0;owned\\u0007"), "{kind}: {text}");
        assert!(!steers(&text), "{kind}: {text:?}");
    }
}

#[test]
fn an_error_escapes_text_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd\u{1b}[2Jname");
    let said = output(tandem(folder.path()).arg("report").arg(&path));
    let text = String::from_utf8(said.stderr).unwrap();
    assert!(text.contains("odd\\u001b[2Jname") && !steers(&text), "{text:?}");
}

#[test]
fn on_a_terminal_colours_are_ours_and_nothing_else_passes() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(1, &[("p1", 1, 2), ("p2", 1, 1)]);
    let mut story = kills(&[1_000]);
    story.run(12_000, failed("1.x", "broker", HOSTILE));
    record(folder.path(), &plan, &brief(&plan, 1, &[]), &story.facts);
    // `script` gives it a terminal.
    let command = format!("{} report {}", env!("CARGO_BIN_EXE_tandem"), folder.path().display());
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).env_remove("NO_COLOR").env("TERM", "xterm");
    let said = output(&mut script);
    let text = String::from_utf8_lossy(&said.stdout).replace("\r\n", "\n");
    assert!(text.contains("\u{1b}[33mUNKNOWN\u{1b}[0m"), "ours: {text:?}");
    assert!(text.contains("\\u001b]0;owned\\u0007\\u001b[2J\\u001b[8m"), "{text:?}");
    assert!(!text.contains("\u{1b}[8m") && !text.contains("\u{1b}]"), "{text:?}");
}
