//! `mesh` of a group: where its members listen for each other, and whom they believe. Without it,
//! on the loopback alone.

// Addresses alone: sockets are elsewhere.
use core::net::{IpAddr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::places::Places;
use super::{Group, OnDeath, Pace, defaults};
use crate::ids::GroupName;
use crate::yaml::Problem;

/// Where the members of a group listen for each other, and whom they believe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "the links of members, as in {listen: \"10.0.0.1:7400\"}")]
pub struct Links {
    /// An IP address of this machine, or one with a port: the first member that Tandem starts has
    /// this port, the second the next, and so on. Without a port each has any free one.
    pub listen: String,
    /// The IP address to which the others connect, if not that; with a port, it counts up as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advertise: Option<String>,
    /// The file of the authority, in PEM: the holder of any certificate of it is a member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// The file of the members' certificate, in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// The file of its key, in PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether links without certificates may leave this machine, in plain text, open to all that
    /// reach the port; default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain: bool,
}

/// An IP address, or one with a port.
#[must_use]
pub fn place(text: &str) -> Option<SocketAddr> {
    text.parse().ok().or_else(|| Some(SocketAddr::new(text.parse::<IpAddr>().ok()?, 0)))
}

impl Links {
    /// Where the member of this number listens, from 0, and where the others connect to.
    #[must_use]
    pub fn of(&self, number: u16) -> Option<(SocketAddr, Option<SocketAddr>)> {
        let counted = |mut at: SocketAddr| {
            if at.port() != 0 {
                at.set_port(at.port().checked_add(number)?);
            }
            Some(at)
        };
        let listen = counted(place(&self.listen)?)?;
        let Some(advertise) = &self.advertise else { return Some((listen, None)) };
        let mut advertise = counted(place(advertise)?)?;
        if advertise.port() == 0 {
            advertise.set_port(listen.port());
        }
        Some((listen, Some(advertise)))
    }

    /// The files of the authority, the certificate and the key.
    #[must_use]
    pub fn files(&self) -> Option<[&str; 3]> {
        Some([self.ca.as_deref()?, self.certificate.as_deref()?, self.key.as_deref()?])
    }

    /// Whether links may leave this machine.
    fn may_leave(&self) -> bool {
        self.plain || self.files().is_some()
    }

    /// The first of these addresses that is beyond this machine, where links may not leave it.
    #[must_use]
    pub fn too_far(links: Option<&Self>, addresses: [IpAddr; 2]) -> Option<IpAddr> {
        let far = addresses.into_iter().find(|address| !address.is_loopback());
        far.filter(|_| !links.is_some_and(Self::may_leave))
    }
}

/// The first rule that `mesh` of a group breaks.
pub(super) fn problem(
    group: &Group,
    pace: &Pace,
    name: &GroupName,
    places: Places<'_>,
) -> Option<Problem> {
    let links = group.mesh.as_ref()?;
    let here = places.group(name).key("mesh");
    let at = |key: &str, message: &str| {
        let key = here.key(key);
        Problem::at(if key.exists() { key.origin() } else { here.origin() }, message)
    };
    if pace.on_death != OnDeath::StandIn {
        let problem = Problem::at(here.name(), "members are linked only to stand in for the dead");
        return Some(problem.hint("write `on_death: stand-in` as well"));
    }
    for (key, text) in [("listen", Some(&links.listen)), ("advertise", links.advertise.as_ref())] {
        if text.is_some_and(|text| place(text).is_none()) {
            let problem = at(key, &format!("`{key}` is not an IP address"));
            return Some(problem.hint("as in 10.0.0.1, 10.0.0.1:7400 or [fd00::1]:7400"));
        }
    }
    let last = group.members.unwrap_or(defaults::MEMBERS).saturating_sub(1);
    let Some((listen, advertise)) = u16::try_from(last).ok().and_then(|last| links.of(last)) else {
        let problem = at("listen", "each member takes the next port, and these are too few");
        return Some(problem.hint("write a lower one"));
    };
    let stated = advertise.unwrap_or(listen);
    if stated.ip().is_unspecified() {
        let problem = at("listen", "no other member can connect to this address");
        return Some(problem.hint("say with `advertise` where they connect to"));
    }
    if advertise.is_some_and(|advertise| advertise.port() == 0) {
        let problem = at("advertise", "to which port the others connect is not known");
        return Some(problem.hint("write a port at `listen` or at `advertise`"));
    }
    let named = [&links.ca, &links.certificate, &links.key];
    if links.files().is_none() && named.iter().any(|file| file.is_some()) {
        let problem = at("mesh", "both ends of a link need all three files");
        return Some(problem.hint("write `ca`, `certificate` and `key`"));
    }
    if links.plain && links.files().is_some() {
        let problem = at("plain", "with certificates nothing is in plain text");
        return Some(problem.hint("leave `plain` out"));
    }
    Links::too_far(Some(links), [listen.ip(), stated.ip()]).map(|_| {
        let message = "links beyond this machine need certificates";
        let hint = "write `ca`, `certificate` and `key`; or `plain: true`, if all that reach the \
                    port may stop and start stand-ins";
        at("listen", message).hint(hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(listen: &str, advertise: Option<&str>) -> Links {
        let (listen, advertise) = (listen.to_owned(), advertise.map(str::to_owned));
        Links { listen, advertise, ca: None, certificate: None, key: None, plain: false }
    }

    #[test]
    fn members_count_their_ports_up() {
        let of = |listen, advertise, number| {
            let (listen, advertise) = links(listen, advertise).of(number)?;
            Some((listen.to_string(), advertise.map(|it| it.to_string())))
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(of("10.0.0.1", None, 2), Some(("10.0.0.1:0".to_owned(), None)));
        assert_eq!(of("10.0.0.1:7400", None, 2), Some(("10.0.0.1:7402".to_owned(), None)));
        let both = of("0.0.0.0:7400", Some("192.0.2.1"), 1);
        assert_eq!(both, Some(("0.0.0.0:7401".to_owned(), some("192.0.2.1:7401"))));
        let both = of("0.0.0.0:7400", Some("192.0.2.1:80"), 1);
        assert_eq!(both, Some(("0.0.0.0:7401".to_owned(), some("192.0.2.1:81"))));
        assert_eq!(of("10.0.0.1:65535", None, 1), None);
        assert_eq!(of("host:1", None, 1), None);
    }
}
