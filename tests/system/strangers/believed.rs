//! What another user could have written is not believed, what is not ours is not removed, and what
//! librdkafka calls a secret is one.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use tandem::topology::is_secret;

use crate::strangers::another::NOBODY;
use support::experiment::{output, tandem};
use support::undone::Stage;

/// Ends the broker that coordinates a group.
const ENDS_ONE: &str = "version: 1
name: ends-one
method: [{fault: broker, target: {coordinator_of: p2}, restart_after: 6s}]
";

/// What `tandem doctor` says of killing brokers: that of `p2` is one that outlives runs.
fn broker_fault(stage: &Stage) -> String {
    let experiment = stage.state().join("ends-one.yaml");
    fs::write(&experiment, ENDS_ONE).unwrap();
    let duo = fs::read_to_string("topologies/duo.yaml").unwrap();
    let there = format!("b: {{bootstrap: \"{}\"}}", stage.broker.address);
    let topology = stage.state().join("half.yaml");
    fs::write(&topology, duo.replace("b: embedded", &there)).unwrap();
    let mut doctor = tandem(stage.state());
    let done = output(doctor.arg("doctor").arg("-x").arg(experiment).arg("-f").arg(topology));
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    said.lines().find(|line| line.contains("  broker: ")).unwrap_or(&said).to_owned()
}

#[test]
fn commands_that_another_user_could_have_written_are_not_run() {
    let stage = Stage::set();
    let kafka = stage.state().join("tandem/kafka");
    let file = kafka.join("clusters.json");
    assert!(broker_fault(&stage).starts_with("ok"), "{}", broker_fault(&stage));
    for (path, mode) in [(&file, 0o666), (&file, 0o620), (&kafka, 0o777)] {
        let before = fs::metadata(path).unwrap().permissions();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let line = broker_fault(&stage);
        assert!(line.starts_with("fail") && line.contains("cannot be trusted"), "{line}");
        assert!(line.contains("chmod go-w"), "{line}");
        fs::set_permissions(path, before).unwrap();
    }
    // A link leads to what another user may have made.
    let aside = kafka.join("aside.json");
    fs::rename(&file, &aside).unwrap();
    std::os::unix::fs::symlink(&aside, &file).unwrap();
    assert!(broker_fault(&stage).contains("cannot be trusted"), "{}", broker_fault(&stage));
    fs::remove_file(&file).unwrap();
    fs::rename(&aside, &file).unwrap();
    let root = rustix::process::geteuid().is_root();
    assert!(root, "this test gives a file to another user, which takes root: run tests/all so");
    chown(&file, Some(NOBODY), None).unwrap();
    assert!(broker_fault(&stage).contains("cannot be trusted"), "{}", broker_fault(&stage));
    chown(&file, Some(0), None).unwrap();
    assert!(broker_fault(&stage).starts_with("ok"), "{}", broker_fault(&stage));
}

/// `deploy/kafka/down --state`.
fn down(state: &Path) -> (Option<i32>, String) {
    let mut command = Command::new("bash");
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(["deploy/kafka/down", "--state"]);
    let done = output(command.arg(state));
    (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn folders_that_up_did_not_make_are_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let work = home.path();
    let marker = ".made-by-tandem-kafka-up";
    for folder in ["secure", "cluster-plans", "cluster-0"] {
        fs::create_dir(work.join(folder)).unwrap();
        fs::write(work.join(folder).join("mine"), "years of work").unwrap();
    }
    let (code, said) = down(work);
    assert!(code == Some(1) && said.contains("was not made by deploy/kafka/up"), "{said}");
    assert_eq!(fs::read_dir(work).unwrap().count(), 3);
    // Even where up has used the folder, what stood there before is not its own.
    fs::write(work.join(marker), "").unwrap();
    fs::write(work.join("cluster-0").join(marker), "").unwrap();
    let (code, said) = down(work);
    assert_eq!(code, Some(0), "{said}");
    assert!(!work.join("cluster-0").exists() && !work.join(marker).exists());
    for folder in ["secure", "cluster-plans"] {
        assert!(work.join(folder).join("mine").exists(), "{folder}");
    }
}

/// librdkafka's own list of client properties, as the crate that is built brings it.
fn librdkafka() -> String {
    let compiler = output(Command::new("rustc").arg("-vV"));
    let compiler = String::from_utf8(compiler.stdout).unwrap();
    let host = compiler.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let mut command = Command::new("cargo");
    // What other platforms need may not be there.
    command.args(["metadata", "--offline", "--format-version", "1", "--filter-platform", host]);
    let done = output(command.current_dir(env!("CARGO_MANIFEST_DIR")));
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let found: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let packages = found["packages"].as_array().unwrap();
    let sys = packages.iter().find(|one| one["name"] == "rdkafka-sys").unwrap();
    let manifest = Path::new(sys["manifest_path"].as_str().unwrap());
    fs::read_to_string(manifest.with_file_name("librdkafka").join("CONFIGURATION.md")).unwrap()
}

#[test]
fn every_key_and_password_of_librdkafka_is_a_secret() {
    let list = librdkafka();
    let mut found = Vec::new();
    for row in list.lines().filter(|row| row.contains(" | ")) {
        let name = row.split('|').next().unwrap().trim();
        let about = row.rsplit(" | ").next().unwrap().to_ascii_lowercase();
        // A path is not a secret, and neither are public parts.
        let place = about.starts_with("path to") || about.starts_with("file or directory path");
        let words = [
            "private key string",
            "private key as set",
            "private key (pem) used",
            "password",
            "passphrase",
            "client secret",
            "oauthbearer configuration",
        ];
        if !place && words.iter().any(|word| about.contains(word)) && !name.ends_with("_cb") {
            found.push(name);
        }
    }
    for name in [
        "ssl.key.pem",
        "ssl_key",
        "ssl.keystore.password",
        "sasl.password",
        "sasl.oauthbearer.config",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.assertion.private.key.passphrase",
    ] {
        assert!(found.contains(&name), "{name} is not found any more: {found:?}");
    }
    let open: Vec<_> = found.iter().filter(|name| !is_secret(name)).collect();
    assert!(open.is_empty(), "they would be written into every journal: {open:?}");
    for name in ["sasl.username", "ssl.key.location", "ssl.ca.pem", "client.id", "sasl.mechanism"] {
        assert!(!is_secret(name), "{name}");
    }
}
