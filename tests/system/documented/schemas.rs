//! The schemas accept what Tandem writes and what is shipped, and refuse what is not so; the
//! validator is Python's `jsonschema`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::documented::live::live;
use crate::documented::python::{VALIDATOR, ask};
use support::experiment::{output, tandem};

/// A file, its schema, and how it is written: `json`, `lines` of it, or `yaml`.
type Asked = (&'static str, PathBuf, &'static str);

/// What is wrong with each.
fn errors(asked: &[Asked]) -> Vec<Vec<Value>> {
    let line = |(schema, file, form): &Asked| {
        let schema = format!("deploy/schema/{schema}.json");
        json!({"schema": schema, "file": file, "form": form}).to_string()
    };
    let lines: Vec<_> = asked.iter().map(line).collect();
    let answers = ask("validate.py", &VALIDATOR, &lines);
    answers.into_iter().map(|it| serde_json::from_value(it).unwrap()).collect()
}

fn all_are_valid(asked: &[Asked]) {
    for ((schema, file, _), errors) in asked.iter().zip(errors(asked)) {
        assert!(errors.is_empty(), "{} is no {schema}: {errors:#?}", file.display());
    }
}

fn yaml_in(folder: &str) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    files.sort();
    assert!(!files.is_empty(), "{folder}");
    files
}

#[test]
fn shipped_files_match_their_schemas() {
    let each = |schema: &'static str, folder: &str| {
        yaml_in(folder).into_iter().map(move |file| (schema, file, "yaml"))
    };
    let topologies = each("topology", "topologies");
    let experiments = each("experiment", "chaos").chain(each("suite", "chaos/suites"));
    all_are_valid(&topologies.chain(experiments).collect::<Vec<_>>());
}

#[test]
fn files_and_output_match_their_schemas() {
    let live = live();
    let mut asked: Vec<Asked> = vec![
        ("suite-summary", live.suite.join("suite.json"), "json"),
        ("journal", live.up.join("journal-000001.jsonl"), "lines"),
        ("result", live.up.join("result.json"), "json"),
    ];
    for run in &live.runs {
        asked.push(("journal", run.join("journal.jsonl"), "lines"));
        asked.push(("result", run.join("result.json"), "json"));
    }
    for (schema, file) in &live.printed {
        asked.push((schema, file.clone(), if *schema == "event" { "lines" } else { "json" }));
    }
    all_are_valid(&asked);
    let journals = [live.runs[1].join("journal.jsonl"), live.up.join("journal-000001.jsonl")];
    let text = journals.map(|path| fs::read_to_string(path).unwrap()).concat();
    for bare in ["leaving", "stopped", "continued"] {
        assert!(text.contains(&format!("\"{bare}\":null")), "{bare} was tried");
    }
}

#[test]
fn plans_match_their_schema() {
    let folder = tempfile::tempdir().unwrap();
    let mut asked: Vec<Asked> = Vec::new();
    let mut keep = |schema, name: String, args: &[&str]| {
        let said = output(tandem(folder.path()).args(args));
        assert!(said.status.success(), "{args:?}: {}", String::from_utf8_lossy(&said.stderr));
        let path = folder.path().join(name);
        fs::write(&path, said.stdout).unwrap();
        asked.push((schema, path, "json"));
    };
    for (number, file) in yaml_in("topologies").iter().enumerate() {
        let args = ["plan", "-f", file.to_str().unwrap(), "-o", "json"];
        keep("plan", format!("plan-{number}"), &args);
    }
    for (number, file) in yaml_in("chaos").iter().enumerate() {
        let args = ["chaos", "run", file.to_str().unwrap(), "--dry-run", "-o", "json"];
        keep("dry-run", format!("dry-{number}"), &args);
    }
    all_are_valid(&asked);
}

/// The first of them in a file, changed.
fn changed(file: &Path, form: &str, change: impl FnOnce(&mut Value)) -> Value {
    let text = fs::read_to_string(file).unwrap();
    let first = if form == "lines" { text.lines().last().unwrap() } else { &text };
    let mut value: Value = serde_json::from_str(first).unwrap();
    change(&mut value);
    value
}

#[test]
fn false_claims_are_refused() {
    let live = live();
    let folder = tempfile::tempdir().unwrap();
    let journal = live.runs[0].join("journal.jsonl");
    let mut asked: Vec<Asked> = Vec::new();
    let mut wrong = |schema: &'static str, value: Value| {
        let path = folder.path().join(format!("wrong-{}", asked.len()));
        fs::write(&path, value.to_string()).unwrap();
        asked.push((schema, path, "json"));
    };
    for (schema, file) in &live.printed {
        let form = if *schema == "event" { "lines" } else { "json" };
        let known = fs::read_to_string(format!("deploy/schema/{schema}.json")).unwrap();
        let known: Value = serde_json::from_str(&known).unwrap();
        let needed = known["required"][0].as_str().unwrap().to_owned();
        wrong(schema, changed(file, form, |it| drop(it.as_object_mut().unwrap().remove(&needed))));
        wrong(schema, changed(file, form, |it| it[&needed] = json!({"no": "such thing"})));
    }
    wrong("journal", changed(&journal, "lines", |it| it["t_ns"] = json!("soon")));
    wrong("journal", json!({"t_ns": 1, "seq": 1, "life": "p1-1.1"}));
    wrong("journal", json!({"t_ns": 1, "seq": 1, "life": "p1-1.1", "leaving": {"how": 1}}));
    wrong("journal", json!({"t_ns": 1, "seq": 1, "life": "p1-1.1", "fled": null}));
    wrong("topology", json!({"version": 1, "nmae": "x"}));
    wrong("experiment", json!({"version": 1, "name": "x", "trials": "many"}));
    wrong("suite", json!({"runs": 3}));
    for ((schema, file, _), errors) in asked.iter().zip(errors(&asked)) {
        let text = fs::read_to_string(file).unwrap();
        assert!(!errors.is_empty(), "{schema} accepts {text}");
    }
}
