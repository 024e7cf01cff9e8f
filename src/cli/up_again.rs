//! `tandem up` where a supervisor keeps the topology up already: it watches that one.

use std::time::Duration;

use super::{Failure, log_lines};
use crate::guard::{Remains, remains, runs};
use crate::ids::TopologyName;
use crate::run::{Adopted, Choice, UpkeepRequest, choose};
use crate::supervision::{Phase, supervisors};
use crate::time::Mono;
use crate::topology::Plan;
use crate::verdict::Exit;

/// How long a supervisor may take to start, or to end.
const CHANGES: Duration = Duration::from_secs(60);
/// How long the guard of a dead supervisor may take.
const UNDOING: Duration = Duration::from_secs(10);
/// How often to check whether it has.
const LOOK: Duration = Duration::from_millis(100);

/// The supervisor that keeps the topology up already, if one does and this process is to watch it.
/// Waits for one that is starting or ending.
pub(super) async fn found(plan: &Plan, replace: bool) -> Result<Option<Adopted>, Failure> {
    let (topology, began, mut said) = (&plan.topology, Mono::now(), false);
    undone(topology).await;
    let unable = |text: String| Err(Failure::text(Exit::Unable, text));
    loop {
        let found = supervisors().await.map_err(|error| Failure::new(Exit::Unable, &error))?;
        let changing = match choose(plan, found, replace) {
            Choice::Adopt(adopted) => return Ok(Some(*adopted)),
            Choice::None if replace => {
                return unable(format!(
                    "--replace: no supervisor of yours keeps {topology} up on this machine"
                ));
            }
            Choice::None => return Ok(None),
            Choice::Other(other) => {
                let pid = other.about.pid;
                return unable(format!(
                    "process {pid} keeps {topology} up as another file or other options describe \
                     it: start `up` with those, or end it with `tandem down {topology}`"
                ));
            }
            Choice::Wait(changing) => changing.about,
        };
        let (pid, starting) = (changing.pid, changing.phase == Phase::Starting);
        if Mono::now().since(began) >= CHANGES {
            let does = if starting { "start" } else { "end" };
            return unable(format!("process {pid}, which keeps {topology} up, does not {does}"));
        }
        if !said {
            said = true;
            let does = if starting { "starts" } else { "ends" };
            log_lines::say(&format!("process {pid} {does} {topology}: waiting until it is done"));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits, within a bound, until the guards of dead supervisors have ended what those had started: a
/// cluster that outlives a run still has their members.
async fn undone(topology: &TopologyName) {
    let began = Mono::now();
    let undoes = |one: &Remains| {
        let run = one.page.as_ref().ok().map(|page| &page.run);
        run.is_some_and(|run| run.topology == *topology && run.is_being_undone())
    };
    while Mono::now().since(began) < UNDOING
        && remains(&runs()).is_ok_and(|found| found.iter().any(undoes))
    {
        tokio::time::sleep(LOOK).await;
    }
}

/// Goes on with the run of this supervisor, which ignores the options for its own start.
pub(super) fn adopt(request: &mut UpkeepRequest, adopted: Adopted, has_options: bool) {
    let about = &adopted.found.about;
    log_lines::say(&format!(
        "process {} keeps {} up: this process watches it; journals and logs are in {}",
        about.pid,
        about.header.plan.topology,
        about.folder.display()
    ));
    if has_options {
        log_lines::say("--out, --for, --keep and the size of the journal are those of its start");
    }
    request.header.clone_from(&about.header);
    request.folder.clone_from(&about.folder);
    request.supervisor = Some(adopted);
}
