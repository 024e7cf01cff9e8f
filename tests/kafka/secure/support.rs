//! A secured Kafka, its files, and what `tandem` says to it.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tandem::time::Mono;

use support::kafka::Kafka;

pub(crate) const SECURE: &str = "topologies/kafka-secure.yaml";

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

/// The same with one group on one cluster.
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

pub(crate) struct Secured {
    pub(crate) kafka: Kafka,
    pub(crate) passwords: [String; 2],
    _rights: MutexGuard<'static, ()>,
}

/// The tests of one secured cluster grant and take rights, one test after the other.
static RIGHTS: Mutex<()> = Mutex::new(());

/// How a command of `tandem` ended.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
}

impl Secured {
    /// So many of two clusters that all tests share, for a test that claims no length.
    pub(crate) fn beside(clusters: usize) -> Self {
        Self::new(|| Kafka::shared_beside(clusters, &OPTIONS))
    }

    /// The same for a test that claims lengths.
    pub(crate) fn alone(clusters: usize) -> Self {
        Self::new(|| Kafka::shared(clusters, &OPTIONS))
    }

    fn new(kafka: impl FnOnce() -> Kafka) -> Self {
        let rights = RIGHTS.lock().unwrap_or_else(PoisonError::into_inner);
        let kafka = kafka();
        let password = |user: &str| {
            let file = kafka.state().join(SECRETS).join(format!("{user}.password"));
            std::fs::read_to_string(&file).unwrap_or_else(|_| panic!("{}", file.display()))
        };
        let passwords = [password("tandem-member"), password("tandem-controller")];
        assert!(passwords.iter().all(|password| password.len() > 20));
        std::fs::write(kafka.folder.path().join("solo.yaml"), SOLO).unwrap();
        Self { kafka, passwords, _rights: rights }
    }

    /// A file of the cluster's authority.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.kafka.state().join(SECRETS).join(name)
    }

    pub(crate) fn solo(&self) -> PathBuf {
        self.kafka.folder.path().join("solo.yaml")
    }

    /// `tandem`, with the variables that `up` speaks of.
    pub(crate) fn tandem(&self, arguments: &[&str]) -> Command {
        let mut tandem = self.kafka.tandem(arguments);
        tandem.env("TANDEM_KAFKA_CA", self.file("ca.pem"));
        tandem.env("TANDEM_MEMBER_PASSWORD", &self.passwords[0]);
        tandem.env("TANDEM_CONTROLLER_PASSWORD", &self.passwords[1]);
        tandem
    }

    /// `tandem doctor` on the one cluster, with some values replaced.
    pub(crate) fn doctor(&self, set: &[&str]) -> Command {
        let solo = self.solo();
        let mut doctor = self.tandem(&["doctor", "-f", solo.to_str().unwrap()]);
        for set in set {
            doctor.args(["--set", set]);
        }
        doctor
    }

    /// Where brokers, and clients with a certificate, connect to the first cluster.
    pub(crate) fn by_certificate(&self) -> String {
        let (host, port) = self.kafka.bootstraps[0].rsplit_once(':').unwrap();
        format!("{host}:{}", port.parse::<u16>().unwrap() + 3)
    }

    /// One of Kafka's own tools, as the administrator of the first cluster.
    pub(crate) fn admin(&self, class: &str) -> Command {
        let mut tool = self.kafka.tool(class);
        tool.args(["--bootstrap-server", &self.by_certificate(), "--command-config"]);
        tool.arg(self.file("admin.properties"));
        tool
    }

    /// Grants or takes a right, as `--add` or `--remove`.
    pub(crate) fn acl(&self, act: &str, user: &str, operation: &str, resource: &[&str]) {
        let mut tool = self.admin("org.apache.kafka.tools.AclCommand");
        tool.arg(act);
        tool.args(["--allow-principal", &format!("User:{user}"), "--operation", operation]);
        if act == "--remove" {
            tool.arg("--force");
        }
        let done = tool.args(resource).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
    }
}

/// Runs a command that must end by itself.
pub(crate) fn said(mut command: Command, within: Duration) -> Said {
    let began = Mono::now();
    let done = command.stdin(Stdio::null()).output().unwrap();
    let took = Mono::now().since(began);
    let all = [&done.stdout[..], &done.stderr[..]].concat();
    let text = String::from_utf8_lossy(&all).into_owned();
    assert!(took < within, "it took {took:?}: {text}");
    Said { code: done.status.code(), text }
}
