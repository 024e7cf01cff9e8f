//! A member that is linked with the others of its group: when one is killed, another leads in its
//! place within milliseconds, though its session lasts ten seconds. It prints what it leads, with
//! the instant, until its standard input ends; then it leaves.
//!
//! ```sh
//! cargo run -- broker &
//! cargo run --example stand_in -- 127.0.0.1:9092 a 127.0.0.1:0 &
//! cargo run --example stand_in -- 127.0.0.1:9092 b 127.0.0.1:0
//! ```
//!
//! Between machines each has a certificate of one authority (`--features tls`):
//!
//! ```sh
//! cargo run --features tls --example stand_in -- k1:9092 a 10.0.0.1:7400 ca.pem own.pem own.key
//! ```

use std::error::Error;
use std::io::Read;
use std::num::NonZeroU32;
use std::time::Duration;

use tandem_facts::ids::PartitionId;
use tandem_facts::time::Mono;
use tandem_member::{Member, MeshCertificates, MeshTrust};

const WIDTH: NonZeroU32 = NonZeroU32::MIN.saturating_add(3);
const SESSION: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(1);

fn join() -> Result<Member, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (brokers, name, listen, trust) = match arguments.as_slice() {
        [brokers, name, listen] => (brokers, name, listen, MeshTrust::SameUser),
        [brokers, name, listen, authority, certificate, key] => {
            let (authority, certificate, key) = (authority.into(), certificate.into(), key.into());
            let files = MeshCertificates { authority, certificate, key };
            (brokers, name, listen, MeshTrust::Certificates(files))
        }
        _ => return Err("arguments: BROKERS NAME LISTEN [AUTHORITY CERTIFICATE KEY]".into()),
    };
    let member = Member::builder(brokers, "stand-in")
        .name(name)
        .create_ledger(WIDTH)
        .session(SESSION)
        .mesh(listen.parse()?, trust)
        .join()?;
    Ok(member)
}

fn main() -> Result<(), Box<dyn Error>> {
    let member = join()?;
    let (ends, ended) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        std::io::stdin().read_to_end(&mut Vec::new()).ok();
        drop(ends);
    });
    let mut before = Vec::new();
    while ended.recv_timeout(LOOK) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
        let now = Mono::now();
        let led = |number: &u32| member.leads(PartitionId(*number));
        let leads: Vec<u32> = (0..WIDTH.get()).filter(led).collect();
        if leads != before {
            println!("{} leads {leads:?}", now.0);
            before = leads;
        }
    }
    member.leave();
    Ok(())
}
