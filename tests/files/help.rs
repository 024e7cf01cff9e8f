//! What the command line says of itself: help that teaches, completions and manual pages that the
//! tools accept.

use std::fs;
use std::path::Path;
use std::process::Command;

use support::experiment::{output, tandem};

/// Every command that is shown, by its words.
fn commands() -> Vec<(String, clap::Command)> {
    let mut all = tandem::cli::command().disable_help_subcommand(true);
    all.build();
    let (mut found, mut open) = (Vec::new(), vec![(String::new(), all)]);
    while let Some((words, one)) = open.pop() {
        let inner = one.get_subcommands().filter(|inner| !inner.is_hide_set());
        open.extend(inner.map(|inner| {
            (format!("{words} {}", inner.get_name()).trim().to_owned(), inner.clone())
        }));
        found.push((words, one));
    }
    found
}

fn said(args: &[&str]) -> String {
    let state = tempfile::tempdir().unwrap();
    let done = output(tandem(state.path()).args(args));
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn every_command_has_examples_and_documents_its_exit_codes() {
    let all = commands();
    assert!(all.len() > 10, "{}", all.len());
    for (words, command) in &all {
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(after.contains("Examples:\n  tandem "), "`tandem {words}` has no example");
        assert!(after.contains("Exit codes: "), "`tandem {words}` has no exit codes");
        // Its own examples are of itself.
        assert!(after.contains(format!("tandem {words}").trim()), "`tandem {words}`: {after}");
        assert!(command.get_about().is_some(), "`tandem {words}` says nothing");
        let mut args: Vec<&str> = words.split_whitespace().collect();
        args.push("--help");
        let help = said(&args);
        assert!(help.contains("Exit codes: "), "{help}");
        // The line of usage is one line, however long.
        let mut lines = help.lines().filter(|line| !line.starts_with("Usage:"));
        assert!(lines.all(|line| line.chars().count() <= 100), "{help}");
    }
}

#[test]
fn every_command_parses_its_own_examples() {
    for (words, command) in commands() {
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let examples =
            after.split("\n\n").find_map(|part| part.strip_prefix("Examples:\n")).unwrap();
        // A line that ends with a backslash goes on.
        let examples = examples.replace("\\\n", " ");
        let examples = examples.lines().map(str::trim).filter(|line| line.starts_with("tandem "));
        for example in examples {
            // The rest of the line is said of it, or is the shell's.
            let line = example.split("  ").filter(|part| !part.is_empty());
            let line = line.take(1).chain(
                example.split("  ").skip(1).filter(|part| part.trim_start().starts_with('-')),
            );
            let line = line.collect::<Vec<_>>().join(" ");
            let typed = line.split(['|', '>']).next().unwrap();
            let args: Vec<&str> = typed.split_whitespace().collect();
            // Of those folders of ours that are here every file is there.
            let ours = |word: &&&str| {
                let here = word.starts_with("chaos/") || word.starts_with("topologies/");
                here && word.ends_with(".yaml") && !word.contains('*')
            };
            for file in args.iter().filter(ours) {
                assert!(Path::new(file).is_file(), "`tandem {words}`: there is no {file}");
            }
            let parsed = tandem::cli::command().try_get_matches_from(args);
            assert!(parsed.is_ok(), "`tandem {words}`: {example}\n{}", parsed.unwrap_err());
        }
    }
}

/// A tool that the test needs.
fn need(tool: &str) {
    let there = Command::new("sh").args(["-c", &format!("command -v {tool}")]).output().unwrap();
    assert!(there.status.success(), "missing: {tool}; tests/all --install installs it");
}

#[test]
fn shells_accept_their_completions() {
    let folder = tempfile::tempdir().unwrap();
    for (shell, check) in [("bash", "bash -n"), ("zsh", "zsh -n"), ("fish", "fish --no-execute")] {
        let script = said(&["completions", shell]);
        for word in ["compare", "completions", "dry-run"] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
        for (hidden, about) in [("edge", "Stand between members"), ("guard", "Hold what must be")] {
            let offers = script.contains(about) || script.contains(&format!("tandem,{hidden}"));
            assert!(!offers, "{shell} completes the hidden {hidden}");
        }
        let file = folder.path().join(shell);
        fs::write(&file, script).unwrap();
        need(shell);
        let args: Vec<&str> = check.split(' ').collect();
        let done = Command::new(args[0]).args(&args[1..]).arg(&file).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    for shell in ["elvish", "powershell"] {
        assert!(said(&["completions", shell]).contains("compare"));
    }
    // What it completes, as bash itself finds out.
    let ask = format!(
        "source {}; COMP_WORDS=(tandem comp); COMP_CWORD=1; _tandem tandem comp tandem; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        folder.path().join("bash").display()
    );
    let done = Command::new("bash").args(["-c", &ask]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout), "compare\ncompletions\n");
    let ask = ask.replace("comp)", "g)").replace("tandem comp tandem", "tandem g tandem");
    let done = Command::new("bash").args(["-c", &ask]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "", "the guard is hidden");
}

/// The words of `tandem events` are for programs: each is explained where its help says so.
#[test]
fn every_word_of_an_event_is_explained() {
    let schema = schemars::schema_for!(tandem::live_view::Happening);
    let all = schema.get("oneOf").unwrap().as_array().unwrap();
    let words = all.iter().map(|one| {
        let keys = one["properties"].as_object().unwrap().keys();
        keys.map(String::as_str).collect::<Vec<_>>().join(" ")
    });
    let page = fs::read_to_string("topologies/README.md").unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let mut count = 0;
    for word in words {
        let explained =
            rows.iter().any(|row| row.split('|').nth(1).unwrap().contains(&format!("`{word}`")));
        assert!(explained, "topologies/README.md does not explain `{word}`");
        count += 1;
    }
    assert!(count >= 15, "{count}");
    assert!(said(&["events", "--help"]).contains("topologies/README.md"));
}

/// Away from the folder of topologies, and nothing was named: what was looked for, and what to do.
#[test]
fn without_a_topology_the_message_says_how_to_name_one() {
    let away = tempfile::tempdir().unwrap();
    let said = |args: &[&str]| {
        let done = output(tandem(away.path()).current_dir(away.path()).args(args));
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        String::from_utf8(done.stderr).unwrap()
    };
    // Commands that only show or disturb use the shipped topology; `up` never starts it by
    // accident.
    for args in [&["up"][..], &["down"]] {
        let error = said(args);
        assert!(error.starts_with("topologies/duo.yaml: cannot be read: "), "{error}");
        assert!(error.contains("name your own with -f"), "{args:?}: {error}");
    }
    let named = said(&["plan", "-f", "mine.yaml"]);
    assert!(named.contains("mine.yaml: cannot be read") && !named.contains("-f"), "{named}");
}

#[test]
fn the_manual_has_a_page_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    assert_eq!(said(&["man", pages.to_str().unwrap()]), "");
    let name = |words: &str| format!("tandem {words}").trim().replace(' ', "-") + ".1";
    let mut wanted: Vec<String> = commands().iter().map(|(words, _)| name(words)).collect();
    wanted.sort();
    let entries = fs::read_dir(&pages).unwrap().map(|entry| entry.unwrap().file_name());
    let mut found: Vec<String> = entries.map(|entry| entry.into_string().unwrap()).collect();
    found.sort();
    assert_eq!(found, wanted);
    assert!(said(&["man"]).contains(".TH tandem 1"));
    for page in &found {
        let path = pages.join(page);
        let text = fs::read_to_string(&path).unwrap();
        for section in [".SH NAME", ".SH EXAMPLES", ".SH \"EXIT STATUS\"", ".SH OPTIONS"] {
            assert!(text.contains(section), "{page}: no {section}");
        }
        lint(&path);
    }
}

/// No warnings, and every line of the examples where it was.
fn lint(page: &Path) {
    need("man");
    let mut man = Command::new("man");
    man.args(["--warnings", "-l"]).arg(page).env("MANPAGER", "cat").env("MANWIDTH", "100");
    let done = man.output().unwrap();
    let [out, err] = [done.stdout, done.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    assert!(done.status.success() && err.is_empty(), "{err}");
    assert!(out.lines().any(|line| line.trim_start().starts_with("tandem ")), "{out}");
    need("mandoc");
    let done = Command::new("mandoc").args(["-T", "lint", "-W", "error"]).arg(page).output();
    let said = done.unwrap().stdout;
    assert!(said.is_empty(), "{}", String::from_utf8_lossy(&said));
}

/// Results say what they were made by, and so does the program: the commit, whether the sources
/// differed from it, or that neither is known.
#[test]
fn the_version_names_the_build() {
    let said = said(&["--version"]);
    let version = format!("tandem {} (commit ", env!("CARGO_PKG_VERSION"));
    let built = said.strip_prefix(&version).and_then(|rest| rest.strip_suffix(")\n"));
    let built = built.unwrap_or_else(|| panic!("{said:?}"));
    let commit = built.strip_suffix(", dirty").unwrap_or(built);
    let is_hash = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(is_hash || built == "unknown", "{said:?}");
    let known = tandem::built::Built::this();
    assert_eq!(known.is_some(), is_hash);
    // The release build may be of a later commit than these tests: `build.rs` says why.
    if let Some(known) = known.filter(|_| std::env::var_os("TANDEM_TESTED").is_none()) {
        assert_eq!((known.commit.as_str(), known.dirty), (commit, built != commit));
    }
}
