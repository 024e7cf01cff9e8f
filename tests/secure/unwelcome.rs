//! Who is not let in is told why, soon, and before any member is started.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::kafka_support::{eventually, free_ports};
use super::support::{Secured, said};

/// Ten seconds without an answer are the longest.
const SOON: Duration = Duration::from_secs(30);

fn openssl(arguments: &[&str], folder: &Path) {
    let done = Command::new("openssl").args(arguments).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// A key, and certificates of the cluster's authority that expired yesterday.
fn expired(secured: &Secured) -> String {
    let folder = secured.kafka.folder.path();
    let (ca, key) = (secured.file("ca.pem"), secured.file("ca.key"));
    std::fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    let new = "req -new -newkey rsa:2048 -nodes -subj /CN=tandem-member -keyout k.pem -out r.csr";
    openssl(&new.split(' ').collect::<Vec<_>>(), folder);
    let sign = "x509 -req -in r.csr -days -1 -CAcreateserial -extfile names -out old.pem -CA";
    let mut sign: Vec<_> = sign.split(' ').collect();
    sign.extend([ca.to_str().unwrap(), "-CAkey", key.to_str().unwrap()]);
    openssl(&sign, folder);
    let both = ["k.pem", "old.pem"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap());
    std::fs::write(folder.join("both.pem"), both.concat()).unwrap();
    folder.join("both.pem").display().to_string()
}

/// Somebody with an expired certificate, in the place of a broker.
struct Expired(Child, usize);

impl Expired {
    fn start(certificate: &str) -> Self {
        let port = free_ports(1) + 9;
        let server = Command::new("openssl")
            .args(["s_server", "-quiet", "-accept", &port.to_string(), "-cert", certificate])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        eventually("the server listens", Duration::from_secs(10), || {
            std::net::TcpStream::connect(("127.0.0.1", u16::try_from(port).unwrap())).ok()
        });
        Self(server, port)
    }
}

impl Drop for Expired {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn each_reason_to_be_refused_has_its_own_message() {
    let secured = Secured::up(1);
    let address = secured.kafka.bootstraps[0].clone();
    let old = expired(&secured);
    let impostor = Expired::start(&old);
    let (host, port) = address.rsplit_once(':').unwrap();
    let with_certificates = format!("{host}:{}", port.parse::<u16>().unwrap() + 3);
    let other_ca = secured.kafka.folder.path().join("old.pem").display().to_string();

    let fails = |set: &[&str], env: Option<(&str, &str)>, message: &str| {
        let mut doctor = secured.doctor(set);
        if let Some((name, value)) = env {
            doctor.env(name, value);
        }
        let told = said(doctor, SOON);
        assert_eq!(told.code, Some(1), "{}", told.text);
        assert!(told.text.contains(message), "{message:?} is not in {}", told.text);
        assert!(!told.text.contains("wrong-password"), "{}", told.text);
    };
    let wrong = |name| Some((name, "wrong-password"));
    fails(&[], wrong("TANDEM_MEMBER_PASSWORD"), "it refuses user tandem-member: the name, the");
    fails(&[], wrong("TANDEM_CONTROLLER_PASSWORD"), "it refuses user tandem-controller: the name");
    let localhost = format!("clusters.a.bootstrap=localhost:{port}");
    fails(&[&localhost], None, "is for another host than localhost (it is for 127.0.0.1)");
    let place = format!("clusters.a.bootstrap=127.0.0.1:{}", impostor.1);
    fails(&[&place], None, &format!("the certificate of 127.0.0.1:{} expired on", impostor.1));
    fails(&[], Some(("TANDEM_KAFKA_CA", &other_ca)), "is from an authority that is not in");
    let plain = "clusters.a.properties.sasl.mechanism=SCRAM-SHA-256";
    fails(&[plain], None, "broker's supported mechanisms: SCRAM-SHA-512,PLAIN");
    let open = "clusters.a.properties.security.protocol=SASL_PLAINTEXT";
    fails(&[open], None, "nobody answers within 10s");
    let secret = "clusters.a.secrets.sasl.password={file: /nowhere/at/all}";
    fails(&[secret], None, "secret `sasl.password` of");
    fails(&[secret], None, "cannot read the file /nowhere/at/all");

    // By certificates instead of passwords.
    let ca = secured.file("ca.pem").display().to_string();
    let by = |member: &str, controller: &str| {
        [
            format!("clusters.a.bootstrap={with_certificates}"),
            format!(
                "clusters.a.properties={{security.protocol: SSL, ssl.ca.location: {ca}, \
                 ssl.certificate.location: {member}, ssl.key.location: {member}}}"
            ),
            "clusters.a.secrets={}".to_owned(),
            format!(
                "clusters.a.controller={{properties: {{ssl.certificate.location: {controller}, \
                 ssl.key.location: {controller}}}}}"
            ),
        ]
    };
    let ours = ["tandem-member.pem", "tandem-controller.pem"];
    let [member, controller] = ours.map(|name| secured.file(name).display().to_string());
    let good = by(&member, &controller);
    let good: Vec<&str> = good.iter().map(String::as_str).collect();
    let told = said(secured.doctor(&good), SOON);
    assert_eq!(told.code, Some(0), "{}", told.text);
    let stale = by(&old, &controller);
    let stale: Vec<&str> = stale.iter().map(String::as_str).collect();
    fails(&stale, None, &format!("the certificate {old} expired on"));
    let mut none = good.clone();
    let bare = format!("clusters.a.properties={{security.protocol: SSL, ssl.ca.location: {ca}}}");
    none[1] = &bare;
    none[3] = "clusters.a.controller={}";
    fails(&none, None, "us without a certificate");

    // PLAIN, as well as SCRAM.
    let told = said(secured.doctor(&["clusters.a.properties.sasl.mechanism=PLAIN"]), SOON);
    assert_eq!(told.code, Some(0), "{}", told.text);

    // A run ends as soon, and no member was started.
    let out = secured.kafka.folder.path().join("refused");
    let solo = secured.solo();
    let run = ["chaos", "run", "chaos/kill-leader.yaml", "-f", solo.to_str().unwrap()];
    let mut run = secured.tandem(&run);
    run.arg("--out").arg(&out).env("TANDEM_MEMBER_PASSWORD", "wrong-password");
    let told = said(run, SOON);
    assert_eq!(told.code, Some(1), "{}", told.text);
    assert!(told.text.contains("it refuses user tandem-member"), "{}", told.text);
    assert!(!out.join("logs/p1-1.log").exists());
}
