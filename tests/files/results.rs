//! What a series of `tests/measure` writes: a row in the table that grows, and its claims.

use std::fs;

use support::results::{Claims, with_ages, with_row};

#[test]
fn a_row_is_put_below_the_last_of_the_table_that_grows() {
    let page = fs::read_to_string("chaos/RESULTS.md").unwrap();
    let once = with_row(&page, "| one |\n");
    let twice = with_row(&once, "| two |\n");
    assert_eq!(twice.replace("| one |\n| two |\n", ""), page);
    let (new, old) = twice.split_once("\n## Before").unwrap();
    assert!(new.contains("|\n| one |\n| two |\n\n") && !old.contains("| two |"), "{new}");
}

/// Rows of a table that names no commit stay as they are.
#[test]
fn a_row_is_stale_once_the_program_has_changed_since() {
    let table = |[first, second]: [&str; 2]| {
        format!(
            "| series | when (UTC) | built from | measured |\n|---|---|---|---|\n\
             | one | then | a1{first} | 3 |\n| two | then | b2, dirty{second} | 4 |\n\n\
             | a | b | c |\n|---|---|---|\n| a1 | a1 | a1 |\n"
        )
    };
    let fresh = table(["", ""]);
    let stale = table([" (stale: 7 commits since)", " (stale: of another history)"]);
    let later = |commit: &str| (commit == "a1").then_some(7);
    assert_eq!(with_ages(&fresh, later), stale);
    assert_eq!(with_ages(&stale, later), stale);
    assert_eq!(with_ages(&stale, |_| Some(0)), fresh);
}

#[test]
fn a_claim_is_shown_with_its_number_and_fails_where_it_does_not_hold() {
    let mut claims = Claims::default();
    claims.add("no joint gap", "none", true);
    claims.hold();
    claims.add("at most 20 ms", 31, false);
    assert_eq!(claims.shown(), "no joint gap: none; **not** at most 20 ms: 31");
    assert!(std::panic::catch_unwind(|| claims.hold()).is_err());
}
