//! The paper's rule for exclusive leadership: where its conditions keep it, and where the search
//! finds two leaders though they hold.

use super::moves::ONCE;
use super::setting::{Kind, Setting, TICK};
use super::{holds, search};

/// Claims alone: what becomes of the group is not looked at.
fn scene(kinds: &'static [Kind]) -> Setting {
    Setting { kinds, settles: false, ..Setting::by_paper() }
}

fn is_found(name: &str, setting: Setting) {
    let story = search(name, setting).unwrap_or_default();
    eprintln!("{story}");
    assert!(story.starts_with(&format!("not: {ONCE}")), "{name}: not found: {story}");
}

#[test]
fn a_death_a_pause_and_a_cut_keep_the_papers_promise() {
    let kinds = &[Kind::Kill, Kind::Leave, Kind::Pause, Kind::Cut];
    holds("two members, the paper's rule", Setting { kinds, ..Setting::by_paper() });
}

/// It hears messages, and a coordinator that no longer knows better counts it in.
#[test]
fn a_deposed_coordinator_gives_two_leaders_by_the_papers_rule() {
    is_found("the paper's rule, a deposed coordinator", scene(&[Kind::Deposed]));
}

/// A clock that is behind by more than `e` adds as much to a claim of a member that is stopped.
#[test]
fn a_clock_that_is_behind_gives_two_leaders_by_the_papers_rule() {
    let behind = |ticks| Setting { behind: TICK * ticks, ..scene(&[Kind::Pause]) };
    holds("the paper's rule, a clock behind by less than the slack", behind(2));
    is_found("the paper's rule, a clock behind", behind(12));
}
