//! The exit codes of each command, for its help.

use clap::Command;

/// The exit codes of most commands.
const USUAL: &str = "0 done; 1 could not be done; 2 usage or invalid file.";

/// The exit codes of the other commands.
const OTHERS: &[(&str, &str)] = &[
    (
        "chaos run",
        "0 pass; 1 could not run, or passed and could not write its files; 2 usage or
invalid file; 3 verdict fail; 4 verdict unknown; 5 ended by a stop condition or a limit; 6 something
could not be healed; 130 interrupted.",
    ),
    (
        "report",
        "that of the judged run: 0 pass; 3 fail; 4 unknown; 5 ended by a limit; 6 something
could not be healed; 130 interrupted. Also 1 if the journal cannot be read, or the run passed and a
file cannot be written; 2 usage.",
    ),
    (
        "compare",
        "0 nothing is worse; 2 usage, or a run that cannot be read; 3 B is worse;
4 too few trials.",
    ),
    (
        "export",
        "0 the collector took everything; 1 a run could not be read, or the collector did
not take everything; 2 no collector is named, or a setting is invalid.",
    ),
    ("plan", "0 done; 1 could not be printed; 2 usage or invalid file."),
    ("validate", "0 all files are valid; 1 could not be printed; 2 usage, or a file is invalid."),
    ("doctor", "0 everything will work; 1 something will not; 2 usage or invalid file."),
    ("init", "0 written; 1 a file exists already, or cannot be written; 2 usage."),
    ("completions", "0 done; 1 could not be written; 2 usage."),
    ("man", "0 done; 1 could not be written; 2 usage."),
];

/// Adds the exit codes to the help of every command, below its examples.
pub(super) fn documented(command: Command) -> Command {
    below(command, "")
}

fn below(command: Command, words: &str) -> Command {
    command.mut_subcommands(|one| {
        let words = format!("{words} {}", one.get_name()).trim().to_owned();
        let one = below(one, &words);
        let help = one.get_after_help().map(ToString::to_string).unwrap_or_default();
        if one.is_hide_set() || help.contains("Exit codes:") || one.has_subcommands() {
            return one;
        }
        let codes = OTHERS.iter().find(|(name, _)| *name == words).map_or(USUAL, |(_, it)| it);
        let help = format!("{help}\n\nExit codes: {codes}");
        one.after_help(help.trim_start().to_owned())
    })
}
