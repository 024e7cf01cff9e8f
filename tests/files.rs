//! The files that users write.

use std::path::Path;

use tandem::chaos::{Choice, Schedule, load, load_topology};
use tandem::ids::TrialNumber;

#[test]
fn every_topology_plans_and_every_experiment_fits_them() {
    for topology in ["solo", "duo", "trio", "shared-topic"] {
        let path = format!("topologies/{topology}.yaml");
        match load_topology(Path::new(&path), &[]) {
            Ok((plan, _)) => println!("{}", serde_json::to_string_pretty(&plan).unwrap()),
            Err(error) => panic!("{error}"),
        }
        for experiment in ["calm", "kill-leader", "pause-leader", "twin-kill"] {
            let choice = Choice { topology: Some(path.clone().into()), ..Choice::default() };
            let experiment = format!("chaos/{experiment}.yaml");
            let prepared = load(Path::new(&experiment), &choice);
            let prepared = prepared.unwrap_or_else(|error| panic!("{error}"));
            println!("{:#?}", prepared.brief);
            println!("{:?}", Schedule::draw(&prepared.experiment, 1, TrialNumber(1)));
        }
    }
}
