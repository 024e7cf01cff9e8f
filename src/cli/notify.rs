//! Says to a service manager that a command is ready, as sd_notify(3) of systemd describes: one
//! datagram to the socket that `NOTIFY_SOCKET` names. Without that variable nothing is sent.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Once;

use crate::run::UpkeepRequest;

const VARIABLE: &str = "NOTIFY_SOCKET";

/// Says that this process is ready. Only the first call does.
pub(super) fn ready() {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        let Some(socket) = std::env::var_os(VARIABLE).filter(|name| !name.is_empty()) else {
            return;
        };
        if let Err(error) = send(&socket, b"READY=1") {
            tracing::warn!(%error, "The service manager does not learn that this is ready.");
        }
    });
}

/// Makes it say that it is ready once brokers and topics are there and it verifies what it has
/// read. Whether roles are led does not matter: a topology that is down is kept up as well.
pub(super) fn ready_when_caught(request: &mut UpkeepRequest) {
    let before = std::mem::replace(&mut request.on_caught, Box::new(|_| {}));
    request.on_caught = Box::new(move |record| {
        before(record);
        ready();
    });
}

/// A name that begins with `@` is one of Linux's abstract names.
fn send(socket: &OsStr, message: &[u8]) -> io::Result<()> {
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    let sender = UnixDatagram::unbound()?;
    // A manager that does not read must not hold this process up.
    sender.set_nonblocking(true)?;
    sender.send_to_addr(message, &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(socket: &UnixDatagram) -> Vec<u8> {
        let mut bytes = [0; 64];
        let length = socket.recv(&mut bytes).unwrap();
        bytes[..length].to_vec()
    }

    #[test]
    fn the_manager_receives_it_at_a_path_and_at_an_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        send(path.as_os_str(), b"READY=1").unwrap();
        assert_eq!(receive(&manager), b"READY=1");

        let name = format!("tandem-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let manager = UnixDatagram::bind_addr(&address).unwrap();
        send(OsStr::new(&format!("@{name}")), b"READY=1").unwrap();
        assert_eq!(receive(&manager), b"READY=1");
    }

    #[test]
    fn a_manager_that_is_gone_or_reads_nothing_is_an_error_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        assert!(send(path.as_os_str(), b"READY=1").is_err());
        let _reads_nothing = UnixDatagram::bind(&path).unwrap();
        let sent = (0..100_000).find(|_| send(path.as_os_str(), b"READY=1").is_err());
        assert!(sent.is_some_and(|sent| sent > 0), "{sent:?}");
    }
}
