//! A client without access gets the reason, soon, and before any member starts.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use support::kafka::secured::{MUTE, Secured, refused, said, said_once};
use support::kafka::{eventually, free_ports};

/// Nothing here takes longer, however loaded the machine.
const SOON: Duration = Duration::from_secs(60);

fn openssl(arguments: &[&str], folder: &Path) {
    let done = Command::new("openssl").args(arguments).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// A key, and certificates of the cluster's authority that expired yesterday.
fn expired(secured: &Secured) -> String {
    let folder = secured.folder.path();
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

/// A server with an expired certificate, in place of a broker.
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
        eventually("the server listens", SOON, || {
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

/// A refused client: the replaced settings and variable, and what `doctor` must say.
type Refused<'a> = (&'a [&'a str], Option<(&'a str, &'a str)>, &'a str);

/// `doctor` says so, and nothing of what was tried as a password.
fn fails(secured: &Secured, (set, env, message): Refused<'_>) {
    let mut doctor = secured.doctor(set);
    doctor.envs(env);
    let done = if message == MUTE { said_once(&mut doctor) } else { said(doctor) };
    refused(&done, message);
    assert!(!done.text.contains("wrong-password"), "{}", done.text);
}

/// The same of all. Not at once: a client waits for its first answer for ten seconds, and each of
/// them would wait for a processor as well.
fn all_fail(secured: &Secured, all: &[Refused<'_>]) {
    all.iter().for_each(|one| fails(secured, *one));
}

#[test]
fn each_reason_to_be_refused_has_its_own_message() {
    let secured = Secured::sole();
    let done = said(secured.doctor(&[]));
    assert_eq!(done.code, Some(0), "{}", done.text);
    let old = expired(&secured);
    std::thread::scope(|scope| {
        // It waits, and needs no processor.
        scope.spawn(|| {
            let open = ["clusters.a.properties.security.protocol=SASL_PLAINTEXT"];
            fails(&secured, (&open, None, MUTE));
        });
        by_passwords(&secured, &old);
        by_certificates(&secured, &old);
        before_members_are_started(&secured);
    });
}

fn by_passwords(secured: &Secured, old: &str) {
    let impostor = Expired::start(old);
    let (_, port) = secured.kafka.bootstraps[0].rsplit_once(':').unwrap();
    let other_ca = secured.folder.path().join("old.pem").display().to_string();
    let wrong = |name| Some((name, "wrong-password"));
    let localhost = format!("clusters.a.bootstrap=localhost:{port}");
    let place = format!("clusters.a.bootstrap=127.0.0.1:{}", impostor.1);
    let expired = format!("the certificate of 127.0.0.1:{} expired on", impostor.1);
    let other = "clusters.a.properties.sasl.mechanism=SCRAM-SHA-256";
    let secret = "clusters.a.secrets.sasl.password={file: /nowhere/at/all}";
    all_fail(
        secured,
        &[
            (
                &[],
                wrong("TANDEM_MEMBER_PASSWORD"),
                "the cluster refuses user tandem-member: the name, the",
            ),
            (
                &[],
                wrong("TANDEM_CONTROLLER_PASSWORD"),
                "the cluster refuses user tandem-controller: the name",
            ),
            (&[&localhost], None, "is for another host than localhost (it is for 127.0.0.1)"),
            (&[&place], None, &expired),
            (&[], Some(("TANDEM_KAFKA_CA", &other_ca)), "is from an authority that is not in"),
            (&[other], None, "broker's supported mechanisms: SCRAM-SHA-512,PLAIN"),
            (&[secret], None, "secret `sasl.password` of"),
            (&[secret], None, "cannot read the file /nowhere/at/all"),
        ],
    );
    // PLAIN, as well as SCRAM.
    let done = said(secured.doctor(&["clusters.a.properties.sasl.mechanism=PLAIN"]));
    assert_eq!(done.code, Some(0), "{}", done.text);
}

fn by_certificates(secured: &Secured, old: &str) {
    let bootstrap = secured.by_certificate();
    let ca = secured.file("ca.pem").display().to_string();
    let shown = |who: &str| format!("ssl.certificate.location: {who}, ssl.key.location: {who}");
    let look = |member: &str, controller: &str| {
        [
            format!("clusters.a.bootstrap={bootstrap}"),
            format!(
                "clusters.a.properties={{security.protocol: SSL, ssl.ca.location: {ca}, {member}}}"
            ),
            "clusters.a.secrets={}".to_owned(),
            format!("clusters.a.controller={{properties: {{{controller}}}}}"),
        ]
    };
    let ours = ["tandem-member.pem", "tandem-controller.pem"];
    let [member, controller] = ours.map(|name| shown(secured.file(name).to_str().unwrap()));
    let good = look(&member, &controller);
    let done = said(secured.doctor(&good.each_ref().map(String::as_str)));
    assert_eq!(done.code, Some(0), "{}", done.text);
    let stale = look(&shown(old), &controller);
    let expired = format!("the certificate {old} expired on");
    let bare = look("", "");
    let message = "a client without a certificate: set `ssl.certificate.location`";
    all_fail(
        secured,
        &[
            (&stale.each_ref().map(String::as_str), None, &expired),
            (&bare.each_ref().map(String::as_str), None, message),
        ],
    );
}

fn before_members_are_started(secured: &Secured) {
    let out = secured.folder.path().join("refused");
    let solo = secured.solo();
    let run = ["chaos", "run", "chaos/kill-leader.yaml", "-f", solo.to_str().unwrap()];
    let mut run = secured.tandem(&run);
    run.arg("--out").arg(&out).env("TANDEM_MEMBER_PASSWORD", "wrong-password");
    let done = said(run);
    assert_eq!(done.code, Some(1), "{}", done.text);
    assert!(done.text.contains("the cluster refuses user tandem-member"), "{}", done.text);
    assert!(!out.join("logs/p1-1.log").exists());
}
