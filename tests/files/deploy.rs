//! What `deploy/systemd` and `deploy/container` say is valid: systemd accepts the units, the files
//! fit together, and `tandem` understands each of its command lines in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use support::experiment::{output, tandem};

/// Where the units and the image expect it.
const PROGRAM: &str = "/usr/local/bin/tandem";
const CONTAINER: &str = "deploy/container";

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn units() -> Vec<PathBuf> {
    let files = fs::read_dir("deploy/systemd").unwrap().map(|entry| entry.unwrap().path());
    let units = files.filter(|path| path.extension().is_some_and(|it| it == "service"));
    let units: Vec<_> = units.collect();
    assert_eq!(units.len(), 4, "{units:?}");
    units
}

/// What `systemd-analyze verify` says of the units, after `change`.
fn complaints(change: impl Fn(String) -> String) -> String {
    let folder = tempfile::Builder::new().prefix("tandem-units-").tempdir().unwrap();
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]);
    for unit in units() {
        let text = read(&unit).replace(PROGRAM, env!("CARGO_BIN_EXE_tandem"));
        let copy = folder.path().join(unit.file_name().unwrap());
        fs::write(&copy, change(text)).unwrap();
        verify.arg(copy);
    }
    let done = verify.output().expect("systemd-analyze is missing");
    assert!(done.status.success(), "{done:?}");
    // Not those on units of this machine.
    let said = String::from_utf8_lossy(&done.stderr);
    said.lines().filter(|line| line.contains("tandem")).collect::<Vec<_>>().join("\n")
}

/// `tandem` understands the words, and none of it is run.
fn assert_understood<'a>(words: impl IntoIterator<Item = &'a str>) {
    let words: Vec<_> = std::iter::once("tandem").chain(words).collect();
    if let Err(error) = tandem::cli::command().try_get_matches_from(&words) {
        assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp, "{words:?}: {error}");
    }
}

/// The words, each of them text.
fn words(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap_or_else(|| panic!("not a list: {list}"));
    list.iter().map(|word| word.as_str().unwrap_or_else(|| panic!("not text: {word}"))).collect()
}

/// The variables of an environment file; with `others`, those in its comments replace them.
fn variables(path: &str, others: bool) -> BTreeMap<String, String> {
    let text = read(path);
    let lines = text.lines().map(|line| if others { line.trim_start_matches("# ") } else { line });
    let set = lines.filter_map(|line| line.split_once('='));
    let set = set.filter(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase()));
    set.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn systemd_accepts_the_units() {
    assert_eq!(complaints(|text| text), "");
    let wrong = complaints(|text| text.replace("KillMode=process", "KillMode=some"));
    assert!(wrong.contains("kill mode"), "a wrong value is found: {wrong}");
    let wrong = complaints(|text| text.replace("NoNewPrivileges=", "NoNewPrivilege="));
    assert!(wrong.contains("NoNewPrivilege"), "an unknown word is found: {wrong}");
}

#[test]
fn tandem_understands_the_command_lines_of_the_units() {
    let mut understood = 0;
    for others in [false, true] {
        let mut set = variables("deploy/systemd/hold-example.env", others);
        set.insert("OPTIONS".to_owned(), String::new());
        for unit in units() {
            let text = read(&unit);
            let starts = text.lines().filter(|line| line.starts_with("Exec"));
            let starts = starts.filter_map(|line| line.split_once('=')?.1.strip_prefix(PROGRAM));
            for line in starts {
                let mut line = line.replace("%i", "x").replace("${RUNTIME_DIRECTORY}", "/run/x");
                for (name, value) in &set {
                    line = line.replace(&format!("${{{name}}}"), value);
                    line = line.replace(&format!("${name}"), value);
                }
                assert!(!line.contains(['$', '%']), "{}: {line}", unit.display());
                assert_understood(line.split_whitespace());
                understood += 1;
            }
        }
    }
    assert_eq!(understood, 8, "four units, with a command and with a sidecar");
}

#[test]
fn the_image_starts_what_it_has_built() {
    let text = read(format!("{CONTAINER}/Dockerfile")).replace("\\\n", "");
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let after = |word: &str| -> Vec<&str> {
        lines.iter().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' ')).collect()
    };
    let json = |word: &str| serde_json::from_str::<Value>(after(word).last().unwrap()).unwrap();
    let entry = json("ENTRYPOINT");
    let entry = words(&entry);
    assert_eq!(entry[entry.len() - 1], PROGRAM);
    assert_understood(words(&json("CMD")));
    let built = format!("--from=build /src/target/release/tandem {PROGRAM}");
    assert_eq!(after("COPY"), [". .", built.as_str()]);
    assert!(after("FROM")[0].ends_with(" AS build"), "{text}");
    assert_ne!(after("USER"), [""; 0], "it does not run as root");
}

#[test]
fn the_services_of_compose_fit_the_program_and_each_other() {
    let text = read(format!("{CONTAINER}/compose.yaml"));
    let compose: Value = serde_saphyr::from_str(&text).unwrap();
    let services = compose["services"].as_object().unwrap();
    let topology = format!("{CONTAINER}/topology.yaml");
    let state = tempfile::tempdir().unwrap();
    let valid = output(tandem(state.path()).args(["validate", &topology]));
    assert!(valid.status.success(), "{}", String::from_utf8_lossy(&valid.stderr));
    let topology: Value = serde_saphyr::from_str(&read(&topology)).unwrap();
    let bootstrap = topology["clusters"]["a"]["bootstrap"].as_str().unwrap();
    assert!(services.contains_key(bootstrap.split(':').next().unwrap()), "{bootstrap}");
    let mut read_a_file = 0;
    for (name, service) in services {
        assert_eq!(service["image"], "tandem", "{name} has what is common to all");
        let command = words(&service["command"]);
        assert_understood(command.iter().copied());
        if let Some(test) = service.get("healthcheck").map(|check| &check["test"]) {
            let test = words(test);
            assert_eq!(test[..2], ["CMD", PROGRAM], "{name}");
            assert_understood(test[2..].iter().copied());
        }
        let one_of = |kind: &str, one: &str| compose[kind].get(one).is_some();
        let list = |key: &str| service.get(key).map(words).unwrap_or_default();
        assert!(list("depends_on").iter().all(|one| services.contains_key(*one)), "{name}");
        assert!(list("secrets").iter().all(|one| one_of("secrets", one)), "{name}");
        for volume in list("volumes") {
            let (from, to) = volume.split_once(':').unwrap();
            let Some(file) = from.strip_prefix("./") else {
                assert!(one_of("volumes", from), "{name}: {volume}");
                continue;
            };
            assert!(Path::new(CONTAINER).join(file).is_file(), "{name}: {volume}");
            assert!(command.contains(&to.trim_end_matches(":ro")), "{name}: {volume}");
            read_a_file += 1;
        }
    }
    assert_eq!(read_a_file, 3, "two sidecars and the observer");
}
