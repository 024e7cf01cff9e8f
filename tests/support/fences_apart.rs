//! An exclusive group whose members are on two hosts, one after the other, and on brokers that both
//! reach. A host is a folder for state here. The topic is deleted with each change of hosts.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;
use tandem::ids::{GroupName, PartitionId};
use tandem::live_view::Level;
use tandem::neli::membership::COUNT_BITS;
use tandem::observation::Fact;
use tandem::time::Wall;
use tempfile::TempDir;

use super::alone::{Alone, topics_at};
use super::exclusive::fences_rise;
use super::experiment::eventually;
use super::fences::fences;
use super::outside::{kill_leader, lone_leader};
use super::up::{Up, nothing_is_left};

const TOPIC: &str = "apart-p1";
const WIDTH: usize = 2;
const SOON: Duration = Duration::from_secs(60);

/// The brokers, the hosts, and what their members have reported.
pub struct Apart {
    brokers: String,
    /// The process, if it is one of this value.
    own: Option<Alone>,
    hosts: [TempDir; 2],
    past: Vec<Vec<Fact>>,
}

/// What the members have logged.
fn logs(up: &Up) -> String {
    let files = fs::read_dir(up.out.join("logs")).unwrap();
    files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

fn group() -> GroupName {
    "p1".parse().unwrap()
}

impl Apart {
    /// On an embedded broker that is a process of its own.
    pub fn start() -> Self {
        let mut all = Self::on("");
        all.lose_all();
        all
    }

    /// On these brokers.
    pub fn on(bootstrap: &str) -> Self {
        let hosts = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        Self { brokers: bootstrap.to_owned(), own: None, hosts, past: Vec::new() }
    }

    fn kept(&self, host: usize) -> PathBuf {
        self.hosts[host].path().join("tandem/fences").join(TOPIC)
    }

    /// The clock of this host has been ahead by so many hours until now.
    pub fn was_ahead(&self, host: usize, hours: i64) {
        let file = self.kept(host);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let epoch = Wall::now().0 / 1_000 + hours * 3_600;
        fs::write(file, format!("{}\n", epoch << COUNT_BITS)).unwrap();
    }

    /// This host has nothing on its disk.
    pub fn is_new(&mut self, host: usize) {
        self.hosts[host] = TempDir::new().unwrap();
    }

    /// The brokers lose everything.
    pub fn lose_all(&mut self) {
        self.another_broker(&[]);
    }

    /// A broker with these options takes the place of the one that there was.
    pub fn another_broker(&mut self, options: &[&str]) {
        self.own = None;
        let own = Alone::start_with(options);
        self.brokers.clone_from(&own.address);
        self.own = Some(own);
    }

    fn topology(&self, host: usize, protocol: &str) -> PathBuf {
        let file = self.hosts[host].path().join("apart.yaml");
        let text = format!(
            "version: 1\nname: apart\nroles: [a, b]\nclusters: {{c: {{bootstrap: \"{}\"}}}}\n\
             groups: {{p1: {{cluster: c, members: 2, partitions: {WIDTH}}}}}\n\
             defaults: {{mode: exclusive, protocol: {protocol}, restart: {{after: 1500ms}}}}\n",
            self.brokers
        );
        fs::write(&file, text).unwrap();
        file
    }

    /// Members of this host lead, also after one of them was killed. Then they end, and the topic
    /// is deleted.
    pub fn lead_on(&mut self, host: usize) {
        self.lead_by(host, "classic");
    }

    /// The same in a group of this protocol.
    pub fn lead_by(&mut self, host: usize, protocol: &str) {
        let state = self.hosts[host].path();
        let exists = || topics_at(&self.brokers).contains_key(TOPIC);
        eventually("no topic", SOON, || (!exists()).then_some(()));
        let file = self.topology(host, protocol);
        let mut up = Up::start_in(&format!("-f {}", file.display()), state);
        up.await_health(Level::Led);
        assert!(exists());
        let mut follower = up.follow();
        drop(kill_leader(&up, &mut follower, &group()));
        drop(lone_leader(&up, &group()));
        drop(follower);
        up.signal(Signal::INT);
        assert_eq!(up.ends().code(), Some(0), "{}", up.said());
        let facts = up.recording().facts;
        nothing_is_left(state);
        self.past.push(facts);
    }

    /// Members of this host lead, while another topic takes the place of theirs. Each partition has
    /// a claim with another fence afterwards.
    pub fn replace_the_topic_under_members_of(&mut self, host: usize) {
        let state = self.hosts[host].path();
        let own = self.own.as_ref().unwrap();
        let file = self.topology(host, "classic");
        let mut up = Up::start_in(&format!("-f {}", file.display()), state);
        up.await_health(Level::Led);
        let latest = || -> BTreeMap<PartitionId, i64> { fences(&up.recording().facts).collect() };
        let before = eventually("a fence of each partition", SOON, || {
            Some(latest()).filter(|fences| fences.len() == WIDTH)
        });
        // Offsets that the new topic does not reach at once.
        eventually("some beacons", SOON, || (own.end(TOPIC, 0) > 50).then_some(()));
        own.delete(TOPIC);
        own.create(TOPIC, i32::try_from(WIDTH).unwrap());
        eventually("other fences", SOON, || {
            latest().iter().all(|(partition, fence)| *fence > before[partition]).then_some(())
        });
        up.await_health(Level::Led);
        eventually("its words", SOON, || {
            logs(&up).contains("The ledger was set back").then_some(())
        });
        up.signal(Signal::INT);
        assert_eq!(up.ends().code(), Some(0), "{}", up.said());
        let facts = up.recording().facts;
        nothing_is_left(state);
        self.past.push(facts);
    }

    /// The lowest and the highest fence of each time that members have led, if each fence is above
    /// all before it on its partition.
    ///
    /// # Errors
    /// The first one that is not.
    pub fn risen(&self) -> Result<Vec<(i64, i64)>, String> {
        let mut all = Vec::new();
        let mut before = BTreeMap::new();
        for (number, facts) in self.past.iter().enumerate() {
            fences_rise(facts).map_err(|what| format!("the {number}th time: {what}"))?;
            let mut now = before.clone();
            for (partition, fence) in fences(facts) {
                let last = before.get(&partition).copied().unwrap_or(0);
                if fence <= last {
                    return Err(format!(
                        "the {number}th time: {fence} of {partition} after {last}"
                    ));
                }
                let highest = now.entry(partition).or_insert(fence);
                *highest = fence.max(*highest);
            }
            before = now;
            let numbers = || fences(facts).map(|(_, fence)| fence);
            all.push((numbers().min().unwrap(), numbers().max().unwrap()));
        }
        Ok(all)
    }
}
