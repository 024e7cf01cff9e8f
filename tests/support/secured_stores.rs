//! Stores that want TLS and a client's certificate, on this machine. Certificates are made for the
//! test. Without the stores the test fails.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::experiment::eventually;
use crate::kafka::free_ports;
use crate::memory::{self, Folder};

const SOON: Duration = Duration::from_secs(60);

/// An etcd, a ZooKeeper and a NATS. They end with this value.
pub struct SecuredStores {
    folder: Folder,
    servers: Vec<Child>,
    etcd: String,
    zookeeper: String,
    nats: String,
}

/// Whose certificate a client presents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    Known,
    Unnamed,
}

impl SecuredStores {
    pub fn up() -> Self {
        let folder = memory::folder();
        certificates(folder.path());
        let first = free_ports(1);
        let at = |number: usize| format!("127.0.0.1:{}", first + number);
        let (etcd, peers, zookeeper, nats) = (at(0), at(1), at(2), at(3));
        let place = folder.path();
        let servers = vec![
            start_etcd(place, &etcd, &peers),
            start_zookeeper(place, first + 2),
            start_nats(place, &nats),
        ];
        let up = Self { folder, servers, etcd, zookeeper, nats };
        for address in [&up.etcd, &up.zookeeper, &up.nats] {
            eventually(address, SOON, || TcpStream::connect(address).ok());
        }
        up
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A topology with a group on each, whose members trust this authority and are this client.
    pub fn topology(&self, authority: &str, client: Client) -> PathBuf {
        let file = |name: &str| self.file(name).display().to_string();
        let mut files = format!("ssl.ca.location: {}", file(&format!("{authority}.pem")));
        if client == Client::Known {
            let (certificate, key) = (file("client.pem"), file("client.key"));
            files += &format!(", ssl.certificate.location: {certificate}, ssl.key.location: {key}");
        }
        let Self { etcd, zookeeper, nats, .. } = self;
        let tls = format!("{{security.protocol: ssl, {files}}}");
        let text = format!(
            "version: 1\nname: secured\nroles: [eurusd, usdjpy, xauusd, brent]\nclusters:\n  \
             e: {{etcd: \"https://{etcd}\", properties: {{{files}}}}}\n  \
             z: {{zookeeper: \"{zookeeper}\", tick: 200ms, sync_limit: 0, properties: {tls}}}\n  \
             n: {{nats: \"{nats}\", properties: {tls}}}\ngroups:\n  \
             p1: {{cluster: e, election: etcd, lease: 2s}}\n  \
             p2: {{cluster: z, election: zookeeper, session: 2s}}\n  \
             p3: {{cluster: n, election: allcall}}\n"
        );
        let path = self.file(&format!("{authority}-{client:?}.yaml"));
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for SecuredStores {
    fn drop(&mut self) {
        for server in &mut self.servers {
            server.kill().ok();
            server.wait().ok();
        }
    }
}

/// Two authorities; of the first a certificate for servers on the loopback, and one for clients.
fn certificates(folder: &Path) {
    let make = |name: &str, more: &[&str]| {
        let mut openssl = Command::new("openssl");
        openssl.current_dir(folder).args(["req", "-x509", "-newkey", "ec", "-nodes"]);
        openssl.args(["-pkeyopt", "ec_paramgen_curve:P-256", "-days", "2"]);
        openssl.args(["-subj", &format!("/CN={name}"), "-keyout", &format!("{name}.key")]);
        let done = openssl.args(["-out", &format!("{name}.pem")]).args(more).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    let signs = ["-addext", "keyUsage=keyCertSign"];
    make("authority", &signs);
    make("stranger", &signs);
    let signed = ["-CA", "authority.pem", "-CAkey", "authority.key"];
    let leaf = ["-addext", "basicConstraints=critical,CA:FALSE"];
    let here = ["-addext", "subjectAltName=IP:127.0.0.1"];
    make("server", &[&signed[..], &leaf, &here].concat());
    make("client", &[&signed[..], &leaf].concat());
}

fn start(mut server: Command, log: &Path) -> Child {
    let log = fs::File::create(log).unwrap();
    server.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    server.spawn().unwrap_or_else(|error| panic!("{server:?}: {error}"))
}

fn start_etcd(folder: &Path, address: &str, peers: &str) -> Child {
    let (clients, peers) = (format!("https://{address}"), format!("http://{peers}"));
    let mut etcd = Command::new("etcd");
    etcd.current_dir(folder).args(["--name", "e", "--data-dir", "etcd", "--logger", "zap"]);
    etcd.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
    etcd.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
    etcd.args(["--initial-cluster", &format!("e={peers}"), "--client-cert-auth"]);
    etcd.args(["--cert-file", "server.pem", "--key-file", "server.key"]);
    etcd.args(["--trusted-ca-file", "authority.pem"]);
    start(etcd, &folder.join("etcd.log"))
}

fn start_nats(folder: &Path, address: &str) -> Child {
    let text = format!(
        "listen: \"{address}\"\ntls {{\n  cert_file: \"server.pem\"\n  key_file: \"server.key\"\n  \
         ca_file: \"authority.pem\"\n  verify: true\n}}\n"
    );
    fs::write(folder.join("nats.conf"), text).unwrap();
    let mut nats = Command::new("nats-server");
    let path = std::env::var("PATH").unwrap_or_default();
    nats.current_dir(folder).env("PATH", format!("{path}:/usr/sbin")).args(["-c", "nats.conf"]);
    start(nats, &folder.join("nats.log"))
}

fn start_zookeeper(folder: &Path, port: usize) -> Child {
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    fs::write(folder.join("server-both.pem"), read("server.key") + &read("server.pem")).unwrap();
    fs::create_dir(folder.join("zookeeper")).unwrap();
    let at = |name: &str| folder.join(name).display().to_string();
    let text = format!(
        "tickTime=200\ninitLimit=50\nsyncLimit=5\ndataDir={}\nsecureClientPort={port}\n\
         secureClientPortAddress=127.0.0.1\nadmin.enableServer=false\n\
         serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n\
         ssl.keyStore.location={}\nssl.trustStore.location={}\nssl.clientAuth=need\n",
        at("zookeeper"),
        at("server-both.pem"),
        at("authority.pem")
    );
    fs::write(folder.join("zoo.cfg"), text).unwrap();
    let jars = std::env::var("ZOOKEEPER_JARS").unwrap_or_else(|_| "/usr/share/java".to_owned());
    let mut java = Command::new("java");
    java.args(["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]);
    java.args(["-Dzookeeper.jmx.log4j.disable=true", "-cp"]);
    java.arg(format!("{jars}/slf4j-simple.jar:{jars}/*"));
    java.arg("org.apache.zookeeper.server.quorum.QuorumPeerMain").arg(folder.join("zoo.cfg"));
    start(java, &folder.join("zookeeper.log"))
}
