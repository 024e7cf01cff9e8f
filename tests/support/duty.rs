//! Experiments on one group, `p1`, whose members run a program of the test for each role.

use std::fs;

use super::experiment::{Experiment, Finished, claimless};

/// A member that is alone, and has no reason to lose its roles.
pub const ALONE: &str = "members: 1, partitions: 1, session: 10s, heartbeat: 1s, threshold: 30s";

/// An experiment that does nothing for so long, and claims nothing: a host that holds a member up
/// for a moment leaves a gap in its service.
pub fn calm(lasts: &str) -> Experiment {
    Experiment::of("calm.yaml", &claimless("calm").replace("for: 60s", &format!("for: {lasts}")))
}

/// `order` on a topology of the role `r` (and more, if named), whose group has these settings. Each
/// member runs the program, with the folder of the run as its argument; `duty` is what stands
/// beside its command.
pub fn with_program(
    order: Experiment,
    roles: &str,
    group: &str,
    duty: &str,
    (name, text): (&str, &str),
) -> Experiment {
    let program = order.write(name, text).display().to_string();
    let folder = order.folder.path().display().to_string();
    let interpreter = if name.ends_with(".py") { "python3" } else { "sh" };
    let topology = format!(
        "version: 1\nname: duty\nroles: [{roles}]\nclusters: {{a: embedded}}\ngroups:\n  p1: \
         {{cluster: a, {group}, duty: {{command: [{interpreter}, {program}, {folder}], {duty}}}}}\n"
    );
    let file = order.write("duty.yaml", &topology);
    order.with(&format!("-f {}", file.display()))
}

/// What a file of the run says.
pub fn said(run: &Finished, file: &str) -> String {
    fs::read_to_string(run.folder.path().join(file)).unwrap_or_default()
}

/// The log of a member.
pub fn log(run: &Finished, member: &str) -> String {
    fs::read_to_string(run.out.join(format!("logs/{member}.log"))).unwrap_or_default()
}
