//! The user at the other end of a TCP connection on this machine. TCP does not carry it; the kernel
//! reports it over netlink (`sock_diag(7)`), for one connection at a time and without a search.

use std::io;
use std::net::{IpAddr, SocketAddr};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// `SOCK_DIAG_BY_FAMILY`, `NLMSG_ERROR`, `NLM_F_REQUEST`, `AF_INET`, `AF_INET6`, `IPPROTO_TCP`.
const BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const REQUEST: u16 = 1;
const INET: u8 = 2;
const INET6: u8 = 10;
const TCP: u8 = 6;
/// `TCP_ESTABLISHED`, `TCP_FIN_WAIT1`, `TCP_FIN_WAIT2`, `TCP_CLOSE_WAIT`, `TCP_CLOSING`: in these
/// states both ends know of the connection, so no other socket has this pair of addresses.
const CONNECTED: [u8; 5] = [1, 4, 5, 8, 11];
/// The length of netlink's header, followed by `struct inet_diag_req_v2` or `struct inet_diag_msg`.
const HEADER: usize = 16;
const ASKED: usize = HEADER + 56;
const ANSWERED: usize = HEADER + 72;

/// The user that holds the far end of the connection between `local` and `peer`, whose near end is
/// open; none if no process of this machine holds it: the peer is on another machine, or closed.
///
/// # Errors
/// The kernel does not report it.
pub fn holder(local: SocketAddr, peer: SocketAddr) -> io::Result<Option<u32>> {
    let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
    let socket = socket_with(family, SocketType::DGRAM, flags, Some(netlink::SOCK_DIAG))?;
    // The request is for the peer's socket, so the peer's own address comes first.
    send(&socket, &question(peer, local), SendFlags::empty())?;
    let mut heard = [0; 1_024];
    // The kernel answers before `send` returns.
    let (length, _) = recv(&socket, &mut heard, RecvFlags::DONTWAIT)?;
    answer(heard.get(..length).unwrap_or_default(), peer, local)
}

/// The request for the socket that is bound to `own` and connected to `far`.
fn question(own: SocketAddr, far: SocketAddr) -> Vec<u8> {
    let mut request = Vec::with_capacity(ASKED);
    request.extend(u32::try_from(ASKED).unwrap_or_default().to_ne_bytes());
    request.extend(BY_FAMILY.to_ne_bytes());
    request.extend(REQUEST.to_ne_bytes());
    // The sequence number, and the port id of the requester, which the kernel fills in.
    request.extend([0; 8]);
    let family = if own.is_ipv4() { INET } else { INET6 };
    // The socket alone, in any state.
    request.extend([family, TCP, 0, 0]);
    request.extend(u32::MAX.to_ne_bytes());
    request.extend(own.port().to_be_bytes());
    request.extend(far.port().to_be_bytes());
    request.extend(octets(own.ip()));
    request.extend(octets(far.ip()));
    // Any interface; `INET_DIAG_NOCOOKIE`.
    request.extend([0; 4]);
    request.extend([0xff; 8]);
    request
}

fn answer(bytes: &[u8], own: SocketAddr, far: SocketAddr) -> io::Result<Option<u32>> {
    let odd = || io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer is cut off");
    let kind = field(bytes, 4).map(u16::from_ne_bytes).ok_or_else(odd)?;
    if kind == ERROR {
        let code = field(bytes, HEADER).map(i32::from_ne_bytes).ok_or_else(odd)?;
        let error = io::Error::from_raw_os_error(code.saturating_neg());
        // ENOENT: there is no such socket.
        return if error.kind() == io::ErrorKind::NotFound { Ok(None) } else { Err(error) };
    }
    if kind != BY_FAMILY || bytes.len() < ANSWERED {
        return Err(odd());
    }
    let byte = |at: usize| bytes.get(at).copied().unwrap_or_default();
    let number = |at: usize| field(bytes, at).map(u32::from_ne_bytes).unwrap_or_default();
    let port = |at: usize| field(bytes, at).map(u16::from_be_bytes).unwrap_or_default();
    // Without such a connection, the kernel may return the listener on that port.
    let same = port(HEADER + 4) == own.port() && port(HEADER + 6) == far.port();
    // A socket without a holder has inode 0, and the kernel reports root as its user.
    let (uid, inode) = (number(HEADER + 64), number(HEADER + 68));
    let held = same && inode != 0 && CONNECTED.contains(&byte(HEADER + 1));
    Ok(held.then_some(uid))
}

fn octets(ip: IpAddr) -> [u8; 16] {
    let mut all = [0; 16];
    match ip {
        IpAddr::V4(ip) => all.iter_mut().zip(ip.octets()).for_each(|(to, from)| *to = from),
        IpAddr::V6(ip) => all = ip.octets(),
    }
    all
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_kernel_reports_the_holder_of_the_other_end_if_there_is_one() {
        let me = rustix::process::geteuid().as_raw();
        for listen in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(listen) else {
                println!("{listen}: this machine has no such address");
                continue;
            };
            let local = listener.local_addr().unwrap();
            let client = TcpStream::connect(local).unwrap();
            let (_server, peer) = listener.accept().unwrap();
            assert_eq!(holder(local, peer).unwrap(), Some(me), "{listen}");
            // The client has shut down its write side, and still reads.
            client.shutdown(std::net::Shutdown::Write).unwrap();
            assert_eq!(holder(local, peer).unwrap(), Some(me), "{listen}");
            // A closed client holds nothing, even if the kernel still remembers the connection.
            drop(client);
            assert_eq!(holder(local, peer).unwrap(), None, "{listen}");
        }
    }
}
