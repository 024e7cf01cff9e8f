//! A secured Kafka, its files, and what `tandem` says to it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{PoisonError, RwLock};

use tandem::kafka::Cluster;
use tempfile::TempDir;

use super::members::{SOON, TOPIC, WIDTH, access};
use super::{Kafka, Turn};
use crate::experiment::eventually;

pub const SECURE: &str = "topologies/kafka-secure.yaml";

/// Where `deploy/kafka/up` puts passwords, keys and certificates, below its state.
const SECRETS: &str = "tandem/kafka/secure";

/// What `up` starts: the brokers also take unsigned tokens, and ask for a token again after 10 s.
/// librdkafka presents it after 90 % of that, and a broker closes a connection on which it comes
/// late: with 4 s a host that stalled for 0.4 s looked like a refusal.
const OPTIONS: [&str; 7] = [
    "--secure",
    "--set",
    "sasl.enabled.mechanisms=SCRAM-SHA-512,PLAIN,OAUTHBEARER",
    "--set",
    "listener.name.clients.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security\
     .oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"broker\";",
    "--set",
    "listener.name.clients.oauthbearer.connections.max.reauth.ms=10000",
];

/// [`SECURE`] with one group on one cluster.
const SOLO: &str = "\
version: 1
name: kafka-secure
roles: [eurusd, usdjpy]
clusters:
  a:
    bootstrap: \"127.0.0.1:1\"
    properties:
      security.protocol: SASL_SSL
      sasl.mechanism: SCRAM-SHA-512
      sasl.username: tandem-member
    secrets:
      ssl.ca.location: {env: TANDEM_KAFKA_CA}
      sasl.password: {env: TANDEM_MEMBER_PASSWORD}
    controller:
      properties: {sasl.username: tandem-controller}
      secrets: {sasl.password: {env: TANDEM_CONTROLLER_PASSWORD}}
groups:
  p1: {cluster: a}
";

/// Secured clusters for a test, and the passwords of members and of the controller.
pub struct Secured {
    pub kafka: Kafka,
    pub passwords: [String; 2],
    /// What this test alone writes.
    pub folder: TempDir,
    _rights: Turn,
}

/// What grants and takes rights writes, and is alone on its cluster; what needs them reads.
static RIGHTS: RwLock<()> = RwLock::new(());

/// How a command of `tandem` ended.
pub struct Said {
    pub code: Option<i32>,
    pub text: String,
}

impl Secured {
    /// One cluster that all tests share, for a test that needs its rights as they are.
    pub fn sole() -> Self {
        let kafka = Kafka::sole_beside(&OPTIONS);
        // In this order: a test that waits here has its share already, and so the cluster stays.
        let rights = Turn::Beside(RIGHTS.read().unwrap_or_else(PoisonError::into_inner));
        Self::new(kafka, rights)
    }

    /// The same for a test that takes rights away.
    pub fn sole_alone() -> Self {
        let kafka = Kafka::sole_beside(&OPTIONS);
        let rights = Turn::Alone(RIGHTS.write().unwrap_or_else(PoisonError::into_inner));
        Self::new(kafka, rights)
    }

    /// So many of two clusters that all tests share, for a test that nothing runs beside.
    pub fn alone(clusters: usize) -> Self {
        let kafka = Kafka::shared(clusters, &OPTIONS);
        let rights = Turn::Alone(RIGHTS.write().unwrap_or_else(PoisonError::into_inner));
        Self::new(kafka, rights)
    }

    fn new(kafka: Kafka, rights: Turn) -> Self {
        let password = |user: &str| {
            let file = kafka.state().join(SECRETS).join(format!("{user}.password"));
            std::fs::read_to_string(&file).unwrap_or_else(|_| panic!("{}", file.display()))
        };
        let passwords = [password("tandem-member"), password("tandem-controller")];
        assert!(passwords.iter().all(|password| password.len() > 20));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("solo.yaml"), SOLO).unwrap();
        Self { kafka, passwords, folder, _rights: rights }
    }

    /// A file of the cluster's authority.
    pub fn file(&self, name: &str) -> PathBuf {
        self.kafka.state().join(SECRETS).join(name)
    }

    pub fn solo(&self) -> PathBuf {
        self.folder.path().join("solo.yaml")
    }

    /// `tandem`, with the variables that `up` speaks of.
    pub fn tandem(&self, arguments: &[&str]) -> Command {
        let mut tandem = self.kafka.tandem(arguments);
        tandem.env("TANDEM_KAFKA_CA", self.file("ca.pem"));
        tandem.env("TANDEM_MEMBER_PASSWORD", &self.passwords[0]);
        tandem.env("TANDEM_CONTROLLER_PASSWORD", &self.passwords[1]);
        tandem
    }

    /// `tandem doctor` on the one cluster, with some values replaced.
    pub fn doctor(&self, set: &[&str]) -> Command {
        let solo = self.solo();
        let mut doctor = self.tandem(&["doctor", "-f", solo.to_str().unwrap()]);
        for set in set {
            doctor.args(["--set", set]);
        }
        doctor
    }

    /// Where brokers, and clients with a certificate, connect to the first cluster.
    pub fn by_certificate(&self) -> String {
        let (host, port) = self.kafka.bootstraps[0].rsplit_once(':').unwrap();
        format!("{host}:{}", port.parse::<u16>().unwrap() + 3)
    }

    /// One of Kafka's own tools, as the administrator of the first cluster.
    pub fn admin(&self, class: &str) -> Command {
        let mut tool = self.kafka.tool(class);
        tool.args(["--bootstrap-server", &self.by_certificate(), "--command-config"]);
        tool.arg(self.file("admin.properties"));
        tool
    }

    /// Grants or takes a right, as `--add` or `--remove`.
    pub fn acl(&self, act: &str, user: &str, operation: &str, resource: &[&str]) {
        let mut tool = self.admin("org.apache.kafka.tools.AclCommand");
        tool.arg(act);
        tool.args(["--allow-principal", &format!("User:{user}"), "--operation", operation]);
        if act == "--remove" {
            tool.arg("--force");
        }
        let done = tool.args(resource).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    }

    /// What `look` says while a right is missing.
    pub fn without(
        &self,
        user: &str,
        right: &str,
        of: &[&str],
        look: impl FnOnce() -> Said,
    ) -> Said {
        self.acl("--remove", user, right, of);
        let done = look();
        self.acl("--add", user, right, of);
        done
    }

    pub fn password(&self) -> PathBuf {
        self.file("tandem-member.password")
    }

    /// The first cluster, for a member with this password.
    pub fn by_password(&self, mechanism: &str, password: &Path) -> Cluster {
        let ca = self.file("ca.pem").display().to_string();
        let properties = [
            ("security.protocol", "SASL_SSL"),
            ("ssl.ca.location", &ca),
            ("sasl.mechanism", mechanism),
            ("sasl.username", "tandem-member"),
        ];
        let access = access(&properties, &[("sasl.password", password)]);
        Cluster { bootstrap: self.kafka.bootstraps[0].clone(), access }
    }

    /// The same for one with a certificate of its own.
    pub fn by_own_certificate(&self) -> Cluster {
        let [ca, ours] =
            ["ca.pem", "tandem-member.pem"].map(|name| self.file(name).display().to_string());
        let properties = [
            ("security.protocol", "SSL"),
            ("ssl.ca.location", ca.as_str()),
            ("ssl.certificate.location", ours.as_str()),
            ("ssl.key.location", ours.as_str()),
        ];
        Cluster { bootstrap: self.by_certificate(), access: access(&properties, &[]) }
    }

    /// Makes the topic of members that a test has in its own process.
    pub fn create_topic(&self) {
        let mut tool = self.admin("org.apache.kafka.tools.TopicCommand");
        tool.args(["--create", "--if-not-exists", "--topic", TOPIC]);
        let done = tool.args(["--partitions", &WIDTH.to_string()]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    }

    pub fn delete_topic(&self) {
        let mut tool = self.admin("org.apache.kafka.tools.TopicCommand");
        let done = tool.args(["--delete", "--topic", TOPIC]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    }
}

/// What a command says of a broker that has not answered in time.
pub const MUTE: &str = "no answer within 10s";

/// What a command says that must end by itself, once brokers answer it: on a busy host they may
/// need longer than it waits.
pub fn said(mut command: Command) -> Said {
    let answered = || Some(said_once(&mut command)).filter(|done| !done.text.contains(MUTE));
    eventually("an answer of the brokers", SOON, answered)
}

/// The same, whether they answer or not.
pub fn said_once(command: &mut Command) -> Said {
    let done = command.stdin(Stdio::null()).output().unwrap();
    let all = [&done.stdout[..], &done.stderr[..]].concat();
    let text = String::from_utf8_lossy(&all).into_owned();
    Said { code: done.status.code(), text }
}

/// The command did not do what it was to do, and says this.
pub fn refused(done: &Said, message: &str) {
    assert_eq!(done.code, Some(1), "{}", done.text);
    assert!(done.text.contains(message), "{message:?} is not in {}", done.text);
}
