//! An observer, on one page: it reads the facts of members that others started, verifies, answers.
//! It starts no member and no broker, and provisions nothing; any number of them may run.
//!
//! ```text
//!  facts topics --letters--> Intake --facts--> Recorder --> journal, file after file
//!                                                 |
//!                                                 +-----> fold --> Service --> terminal, socket
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::ending::Ending;
use super::intake::Intake;
use super::judging::Judging;
use super::supervise::{Ended, asked_to_end, time_is_over};
use super::up::{Service, UpkeepRequest, answer};
use super::{Milestone, RunError};
use crate::controller::Recorder;
use crate::hold::address_of;
use crate::ids::ClusterName;
use crate::journal::Rolling;
use crate::kafka::Cluster;
use crate::live::Live;
use crate::observation::{Outcome, RunEvent};
use crate::status_socket::StatusServer;
use crate::time::{Mono, Span};
use crate::topology::Plan;

/// Observes a topology until it is asked to end, or its time is over. Meanwhile `service` holds its
/// current state.
///
/// # Errors
/// It could not start, or its journal could not be written to the end.
pub async fn observe(
    request: &UpkeepRequest,
    service: &Arc<Service>,
    interrupt: &CancellationToken,
) -> Result<Ended, RunError> {
    let (spec, plan) = (request.spec(), &request.header.plan);
    spec.prepare_folder()?;
    let clusters = clusters(plan).await.inspect_err(|_| spec.sweep())?;
    let server = StatusServer::open().inspect_err(|_| spec.sweep())?;
    (request.on_milestone)(Milestone::Starting);
    let journal = Rolling::create(&request.folder, request.header.clone(), request.bounds)?;
    let record = Recorder::observing(journal, Live::new(plan)).map_err(RunError::Thread)?;
    let record = Arc::new(record);
    service.begin(&record);
    let judging = Judging::follow(&record);
    (request.on_recorder)(&record);
    (request.on_caught)(&record);
    let intake =
        Intake::start(plan, &clusters, (&record, &Arc::default())).map_err(RunError::Thread)?;
    let closed = CancellationToken::new();
    let mut answers = answer(service, server, &closed);
    service.ends(request.lasts.map(|lasts| Mono::now() + lasts));

    let (how, why) = until(request, &record, interrupt).await;
    (request.on_milestone)(Milestone::Stopping);
    judging.end(&record);
    if let Some(intake) = intake {
        intake.finish(&record).await;
    }
    record.note(None, RunEvent::Ended { how, why: why.clone() });
    service.end(why.as_deref().unwrap_or("it could not continue"));
    closed.cancel();
    while answers.join_next().await.is_some() {}
    record.flush().await?;
    Ok(Ended { how, why })
}

/// The addresses of all clusters.
async fn clusters(plan: &Plan) -> Result<BTreeMap<ClusterName, Cluster>, RunError> {
    let mut clusters = BTreeMap::new();
    for (name, planned) in &plan.clusters {
        let bootstrap = address_of(plan, name).await.map_err(RunError::Unreachable)?;
        clusters.insert(name.clone(), Cluster { bootstrap, access: planned.controller().clone() });
    }
    Ok(clusters)
}

async fn until(
    request: &UpkeepRequest,
    record: &Recorder,
    interrupt: &CancellationToken,
) -> Ending {
    tokio::select! {
        biased;
        () = interrupt.cancelled() => asked_to_end(),
        () = record.broken().cancelled() => {
            let why = record.failure().map(|failure| crate::error::chain(&failure));
            (Outcome::Broken, why)
        }
        ending = time_is_over(request.lasts.map(Span)) => ending,
    }
}
