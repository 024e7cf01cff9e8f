//! The files that users write: the good ones that we ship, and what is said of the bad ones.
//!
//! `tests/data/files/` holds one bad file a mistake, and beside it what is said of it; UPDATE=1
//! rewrites what is said.

use std::path::{Path, PathBuf};
use std::{env, fs};

use tandem::chaos::{Choice, Suite, load, load_topology};
use tandem::cli::validate::check;
use tandem::yaml::{FileError, Origin};

const TOPOLOGIES: [&str; 13] = [
    "solo",
    "duo",
    "duty",
    "machines",
    "mixed",
    "trio",
    "shared-topic",
    "stand-in",
    "kafka-solo",
    "kafka-duo",
    "kafka-duo-three",
    "kafka-three",
    "kafka-secure",
];
/// These need a topology with hosts, and one with brokers that coordinate groups apart.
const ELSEWHERE: [&str; 2] = ["host-down", "kill-coordinator"];
/// These need a network that can be read on the way, to brokers of every group.
const OPEN: [&str; 6] = [
    "isolate-leader",
    "isolate-group",
    "isolate-half",
    "heal-stalled",
    "cut-heartbeats",
    "slow-network",
];

#[test]
fn every_experiment_fits_every_topology_that_we_ship() {
    for topology in TOPOLOGIES.map(|name| PathBuf::from(format!("topologies/{name}.yaml"))) {
        load_topology(&topology, &[]).unwrap_or_else(|error| panic!("{error}"));
        let closed = ["kafka-secure.yaml", "mixed.yaml"].iter().any(|it| topology.ends_with(it));
        for experiment in yaml_files("chaos") {
            let name = experiment.file_stem().unwrap().to_str().unwrap();
            if ELSEWHERE.contains(&name) || (closed && OPEN.contains(&name)) {
                continue;
            }
            let choice = Choice { topology: Some(topology.clone()), ..Choice::default() };
            load(&experiment, &choice).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn every_suite_that_we_ship_is_good() {
    let suites = yaml_files("chaos/suites");
    assert!(!suites.is_empty());
    for suite in suites {
        let said = check(&suite).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(said, "a suite", "{}", suite.display());
    }
}

#[test]
fn every_mistake_is_reported_with_its_position_and_a_hint() {
    let mut wrong = Vec::new();
    for path in yaml_files("tests/data/files") {
        let said = match check(&path) {
            Ok(kind) => panic!("{} is {kind}", path.display()),
            Err(error) => format!("{error}\n"),
        };
        let beside = path.with_extension("txt");
        if env::var_os("UPDATE").is_some() {
            fs::write(&beside, &said).unwrap();
        } else if fs::read_to_string(&beside).ok().as_ref() != Some(&said) {
            wrong.push(format!("{}:\n{said}", beside.display()));
        }
    }
    assert!(wrong.is_empty(), "UPDATE=1 rewrites these:\n{}", wrong.join("\n"));
}

#[test]
fn a_missing_file_is_refused() {
    let said = |path: &str| check(Path::new(path)).unwrap_err().to_string();
    assert_eq!(
        said("tests/data/files/nowhere.yaml"),
        "tests/data/files/nowhere.yaml: cannot be read: No such file or directory (os error 2)"
    );
    assert_eq!(said("tests/data/files"), "tests/data/files: is a directory; name a file");
    let folder = tempfile::tempdir().unwrap();
    let huge = folder.path().join("huge.yaml");
    fs::File::create(&huge).unwrap().set_len((32 << 20) + 1).unwrap();
    assert!(check(&huge).unwrap_err().to_string().ends_with("is longer than 32 MiB"));
}

#[test]
fn a_file_of_another_kind_is_called_what_it_is() {
    let duo = Path::new("topologies/duo.yaml");
    let killing = Path::new("chaos/kill-leader.yaml");
    let suite = Path::new("chaos/suites/shipped.yaml");
    let first = |error: FileError| error.to_string().lines().next().unwrap().to_owned();
    let run = |path: &Path| first(load(path, &Choice::default()).unwrap_err());
    assert_eq!(run(duo), "topologies/duo.yaml:4:1: this is a topology, not an experiment");
    assert_eq!(run(suite), "chaos/suites/shipped.yaml:4:1: this is a suite, not an experiment");
    let up = load_topology(killing, &[]).map(|_| ()).unwrap_err();
    assert_eq!(first(up), "chaos/kill-leader.yaml:4:1: this is an experiment, not a topology");
    let played = first(Suite::load(killing).unwrap_err());
    assert_eq!(played, "chaos/kill-leader.yaml:4:1: this is an experiment, not a suite");
}

#[test]
fn a_name_that_is_almost_that_of_a_file_is_understood() {
    for (missing, meant) in [
        ("chaos/kil-leader.yaml", "chaos/kill-leader.yaml"),
        ("kill-leader", "chaos/kill-leader.yaml"),
        ("topologies/doo.yaml", "topologies/duo.yaml"),
        ("tests/data/files/bad-unti.yaml", "tests/data/files/bad-unit.yaml"),
    ] {
        let said = load(Path::new(missing), &Choice::default()).unwrap_err().to_string();
        assert_eq!(said.lines().nth(1), Some(&*format!("  did you mean `{meant}`?")), "{said}");
    }
}

#[test]
fn an_override_goes_before_the_defaults_and_is_named_where_it_is_wrong() {
    let duo = Path::new("topologies/duo.yaml");
    let with = |sets: &[&str]| {
        let sets: Vec<_> = sets.iter().map(|set| set.parse().unwrap()).collect();
        load_topology(duo, &sets).map(|(plan, _)| plan)
    };
    let plan = with(&["defaults.session=300ms", "groups.p2.session=6s"]).unwrap();
    let pace = |group: &str| plan.groups.get(group).unwrap().pace.clone();
    let spans = |group: &str| {
        let pace = pace(group);
        [pace.session, pace.heartbeat, pace.wake, pace.beacon, pace.threshold]
            .map(|s| s.to_string())
    };
    assert_eq!(spans("p1"), ["300ms", "30ms", "15ms", "100ms", "900ms"]);
    assert_eq!(spans("p2"), ["6s", "600ms", "50ms", "100ms", "18s"]);
    assert_eq!(plan.groups.get("p2").unwrap().restart_after.to_string(), "12s");

    let plan = with(&[
        "clusters.a={bootstrap: \"k:9092\"}",
        "clusters.a.properties.fetch.wait.max.ms=7",
        "clusters.a.secrets.sasl.password={env: PASSWORD}",
    ]);
    let cluster = plan.unwrap().clusters.get("a").unwrap().clone();
    assert_eq!(cluster.members.properties.get("fetch.wait.max.ms").map(String::as_str), Some("7"));
    assert!(cluster.members.secrets.contains_key("sasl.password"));
    for set in
        ["clusters.a.secrets.x=hunter2", "clusters.a={bootstrap: \"k:1\", secrets: {x: hunter2}}"]
    {
        let error = with(&[set]).unwrap_err().to_string();
        assert!(error.contains("--set clusters.a") && !error.contains("hunter2"), "{error}");
    }

    let said = |set: &str| with(&[set]).unwrap_err().to_string();
    assert_eq!(
        said("groups.p9.members=4"),
        "--set groups.p9.members=4: there is no group `p9`\n  one of `p1`, `p2`"
    );
    assert_eq!(
        said("clusters.aa.properties.client.rack=x"),
        "--set clusters.aa.properties.client.rack=x: there is no cluster `aa`\n  did you mean `a`?"
    );
    // All that a group needs makes one.
    let more = with(&["groups.p3.cluster=a", "groups.p3.members=2", "disjoint=[member, group]"]);
    assert_eq!(more.unwrap().groups.len(), 3);
    assert_eq!(
        said("defaults.sesion=1s"),
        "--set defaults.sesion=1s: unknown field `sesion`\n  did you mean `session`?"
    );
    assert_eq!(
        said("groups.p1.members=1001"),
        "--set groups.p1.members=1001: a group has 1 to 1000 members, not 1001"
    );
    assert_eq!(
        said("name.x=1"),
        "--set name.x=1: `name` is not a mapping\n  replace all of it: --set name={…}"
    );
    assert_eq!(
        said("defaults.session=1"),
        "--set defaults.session=1: \"1\" has no unit: write 1ms, 1s or 1m"
    );
}

#[test]
fn a_file_with_something_left_out_or_doubled_or_of_another_type_is_good_or_well_refused() {
    let (mut good, mut bad) = (0, 0);
    let shipped = yaml_files("topologies").into_iter().chain(yaml_files("chaos"));
    let folder = tempfile::tempdir().unwrap();
    for path in shipped {
        let text = fs::read_to_string(&path).unwrap();
        for (index, mutant) in mutants(&text).into_iter().enumerate() {
            let path = folder.path().join(format!("{index}.yaml"));
            fs::write(&path, &mutant).unwrap();
            match check(&path) {
                Ok(_) => good += 1,
                Err(error) => {
                    bad += 1;
                    assert!(placed(&error), "{error}\n---\n{mutant}");
                }
            }
        }
    }
    assert!(good > 50 && bad > 500, "{good} good, {bad} bad: what was changed?");
}

#[test]
fn the_examples_of_the_documentation_are_valid() {
    let mut shown = 0;
    let house = tempfile::tempdir().unwrap();
    for folder in ["topologies", "chaos"] {
        let copy = house.path().join(folder);
        fs::create_dir(&copy).unwrap();
        for file in yaml_files(folder) {
            fs::copy(&file, copy.join(file.file_name().unwrap())).unwrap();
        }
        let text = fs::read_to_string(format!("{folder}/README.md")).unwrap();
        for example in text.split("```yaml\n").skip(1).filter(|text| text.starts_with("version")) {
            let example = example.split("```").next().unwrap();
            let path = copy.join("example.yaml");
            fs::write(&path, example).unwrap();
            check(&path).unwrap_or_else(|error| panic!("{error}"));
            shown += 1;
        }
    }
    assert_eq!(shown, 2);
}

#[test]
fn fields_with_defaults_are_optional() {
    let least =
        "version: 1\nname: x\nroles: [a]\nclusters: {c: embedded}\ngroups: {p: {cluster: c}}\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("least.yaml");
    fs::write(&path, least).unwrap();
    let (plan, _) = load_topology(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
    let group = plan.groups.get("p").unwrap();
    assert_eq!((group.topic.as_str(), group.consumer_group.as_str()), ("x-p", "x-p"));
    assert_eq!((group.members.len(), group.partitions.get()), (3, 1));
}

/// Every problem has a place, except where the trouble is with another file.
fn placed(error: &FileError) -> bool {
    error.problems().all(|problem| matches!(problem.origin, Some(Origin::File(_))))
        || error.to_string().contains("cannot be read")
        || error.to_string().contains("is a directory")
}

/// Each line left out or doubled; each value emptied, or of another type; each word of a flow
/// mapping left out, doubled or changed.
fn mutants(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let mut mutants = Vec::new();
    let mut put = |index: usize, changed: &[&str]| {
        let mut all = lines.clone();
        all.splice(index..=index, changed.iter().copied());
        mutants.push(all.join("\n") + "\n");
    };
    for (index, line) in lines.iter().enumerate() {
        put(index, &[]);
        put(index, &[line, line]);
        put(index, &[&format!("\t{line}")]);
        put(index, &[&format!("  {line}")]);
        let Some((key, value)) = line.split_once(": ") else { continue };
        for other in ["", "7", "-1", "x", "true", "[]", "[7]", "{}", "{a: 1}", "1s", "\"", "*a"] {
            put(index, &[&format!("{key}: {other}")]);
        }
        let parts: Vec<&str> = value.split(", ").collect();
        for part in 0..parts.len() {
            let mut without = parts.clone();
            without.remove(part);
            put(index, &[&format!("{key}: {}", without.join(", "))]);
            let mut doubled = parts.clone();
            doubled.insert(part, parts[part]);
            put(index, &[&format!("{key}: {}", doubled.join(", "))]);
            for other in ["7", "-1", "x: y", "[x", "{}"] {
                let mut changed = parts.clone();
                changed[part] = other;
                put(index, &[&format!("{key}: {}", changed.join(", "))]);
            }
        }
    }
    mutants
}

fn yaml_files(folder: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    paths.sort();
    paths
}
