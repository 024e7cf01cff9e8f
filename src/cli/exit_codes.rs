//! What each command ends with, as its help says it.

use clap::Command;

/// What most commands end with.
const USUAL: &str = "0 done; 1 could not be done; 2 usage or invalid file.";

/// Those that end otherwise, by their words.
const OTHERS: &[(&str, &str)] = &[
    (
        "chaos run",
        "0 pass; 1 could not run, or passed and could not write its files; 2 usage or
invalid file; 3 verdict fail; 4 verdict unknown; 5 ended by a stop condition or a limit; 6 something
could not be healed; 130 interrupted.",
    ),
    (
        "report",
        "those of the run that is judged: 0 pass; 3 fail; 4 unknown; 5 ended by a limit;
6 something could not be healed; 130 interrupted; and 1 the journal cannot be read, or it
passed and a file cannot be written, 2 usage.",
    ),
    (
        "compare",
        "0 nothing is worse; 2 usage, or a run that cannot be read; 3 B is worse;
4 cannot be told: too few trials.",
    ),
    (
        "export",
        "0 all was taken; 1 a run could not be read, or something was not taken;
2 no collector is named, or a setting means nothing.",
    ),
    ("plan", "0 planned; 1 could not be told; 2 usage or invalid file."),
    ("validate", "0 all are good; 1 could not be told; 2 usage, or a file is wrong."),
    ("doctor", "0 all will work; 1 something will not; 2 usage or invalid file."),
    ("init", "0 written; 1 a file is there already, or cannot be written; 2 usage."),
    ("completions", "0 done; 1 could not be written; 2 usage."),
    ("man", "0 done; 1 could not be written; 2 usage."),
];

/// Every command with what it ends with below its examples.
pub(super) fn documented(command: Command) -> Command {
    below(command, "")
}

fn below(command: Command, words: &str) -> Command {
    command.mut_subcommands(|one| {
        let words = format!("{words} {}", one.get_name()).trim().to_owned();
        let one = below(one, &words);
        let told = one.get_after_help().map(ToString::to_string).unwrap_or_default();
        if one.is_hide_set() || told.contains("Exit codes:") || one.has_subcommands() {
            return one;
        }
        let codes = OTHERS.iter().find(|(name, _)| *name == words).map_or(USUAL, |(_, it)| it);
        let told = format!("{told}\n\nExit codes: {codes}");
        one.after_help(told.trim_start().to_owned())
    })
}
