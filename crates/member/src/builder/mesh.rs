//! The links of a member to the others of its group, as a program asks for them.

use std::net::SocketAddr;
use std::time::Duration;

use tandem_facts::observation::Mode;

use super::Builder;
use crate::{JoinError, MeshSettings, MeshTrust, usual};

/// What a program asks for.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted {
    at: Option<(SocketAddr, MeshTrust)>,
    advertise: Option<SocketAddr>,
    suspect: Option<Duration>,
}

impl Builder {
    /// Links the member with the others of its group, of which each needs links as well: when the
    /// process of one ends, the kernel ends its links, and the others lead in its place within
    /// milliseconds, though its session goes on. Where a link breaks between two living members,
    /// both lead until a beacon says otherwise. Only in the non-exclusive mode.
    ///
    /// It listens at `listen`; port 0 is any free one. Between machines members need certificates:
    ///
    /// ```
    /// # use tandem_member::{MeshCertificates, MeshTrust, Member};
    /// let trust = MeshTrust::Certificates(MeshCertificates {
    ///     authority: "mesh-ca.pem".into(),
    ///     certificate: "own.pem".into(),
    ///     key: "own.key".into(),
    /// });
    /// let builder = Member::builder("k1:9092,k2:9092", "pricing")
    ///     .mesh(([0, 0, 0, 0], 7_400).into(), trust)
    ///     .mesh_advertise(([10, 0, 0, 1], 7_400).into());
    /// ```
    ///
    /// On one machine the kernel says whose processes they are:
    ///
    /// ```
    /// # use std::num::NonZeroU32;
    /// # use std::time::Duration;
    /// # use tandem_broker::broker::{Broker, BrokerSettings};
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let broker = Broker::bind("127.0.0.1:0".parse()?, BrokerSettings::default()).await?;
    /// # let bootstrap = broker.address().to_string();
    /// # let mut serving = tokio::task::JoinSet::new();
    /// # serving.spawn(broker.serve(tokio_util::sync::CancellationToken::new()));
    /// # use tandem_member::{MeshTrust, Member};
    /// let member = Member::builder(bootstrap, "pricing")
    ///     .create_ledger(NonZeroU32::MIN)
    ///     .mesh(([127, 0, 0, 1], 0).into(), MeshTrust::SameUser)
    ///     .session(Duration::from_secs(10))
    ///     .join()?;
    /// # member.leave();
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn mesh(self, listen: SocketAddr, trust: MeshTrust) -> Self {
        Self { mesh: Wanted { at: Some((listen, trust)), ..self.mesh }, ..self }
    }

    /// Where the others connect to, if that is not where the member listens.
    #[must_use]
    pub fn mesh_advertise(self, address: SocketAddr) -> Self {
        Self { mesh: Wanted { advertise: Some(address), ..self.mesh }, ..self }
    }

    /// Members that are silent on their links for this long are stood in for as well, though they
    /// may live. In a group of three members at least, of which all set the same; 20 ms at least.
    /// By default only the dead are.
    #[must_use]
    pub fn suspect(self, silent: Duration) -> Self {
        Self { mesh: Wanted { suspect: Some(silent), ..self.mesh }, ..self }
    }

    /// How the member is linked, if it is.
    pub(super) fn links(&self, heartbeat: Duration) -> Result<Option<MeshSettings>, JoinError> {
        let refused = |why| Err(JoinError::Settings(why));
        let Wanted { at, advertise, suspect } = &self.mesh;
        let Some((listen, trust)) = at else {
            return match (advertise, suspect) {
                (None, None) => Ok(None),
                (Some(_), _) | (_, Some(_)) => refused(
                    "`mesh_advertise` and `suspect` are for members with links: call `mesh`",
                ),
            };
        };
        if self.mode != Mode::NonExclusive {
            return refused("members stand in for each other in the non-exclusive mode only");
        }
        if suspect.is_some_and(|it| it < usual::SUSPECT_LEAST || it >= self.session) {
            return refused("`suspect` must be at least 20 ms and shorter than the session");
        }
        Ok(Some(MeshSettings {
            listen: *listen,
            advertise: *advertise,
            trust: trust.clone(),
            stand_in: usual::stand_in(self.session, heartbeat),
            suspect: *suspect,
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::super::tests::new;
    use super::*;
    use tandem_neli::Pulse;

    const S: Duration = Duration::from_secs(1);

    fn here() -> SocketAddr {
        ([127, 0, 0, 1], 0).into()
    }

    fn links(builder: &Builder) -> Result<Option<MeshSettings>, String> {
        builder.links(S / 10).map_err(|error| error.to_string())
    }

    #[test]
    fn a_member_has_the_links_that_it_asks_for() {
        assert_eq!(links(&new()), Ok(None));
        let asked = new().session(10 * S).mesh(here(), MeshTrust::Network).suspect(S / 20);
        let asked = asked.mesh_advertise(([192, 0, 2, 1], 7_400).into());
        let wanted = MeshSettings {
            listen: here(),
            advertise: Some(([192, 0, 2, 1], 7_400).into()),
            trust: MeshTrust::Network,
            stand_in: usual::stand_in(10 * S, S / 10),
            suspect: Some(S / 20),
        };
        assert_eq!(links(&asked), Ok(Some(wanted)));
    }

    #[test]
    fn links_that_contradict_the_rest_are_refused() {
        let refused = |builder: &Builder| links(builder).unwrap_err();
        let linked = || new().mesh(here(), MeshTrust::SameUser);
        assert!(refused(&linked().exclusive(S / 5)).contains("non-exclusive"));
        assert!(refused(&linked().fast(Pulse::Clock)).contains("non-exclusive"));
        for suspect in [Duration::from_millis(19), S] {
            assert!(refused(&linked().suspect(suspect)).contains("20 ms"));
        }
        assert!(refused(&new().suspect(S / 20)).contains("call `mesh`"));
        assert!(refused(&new().mesh_advertise(here())).contains("call `mesh`"));
        let name = new().create_ledger(NonZeroU32::MIN).mesh_advertise(here());
        let error = name.config().unwrap_err().to_string();
        assert!(error.contains("call `mesh`"), "before a cluster is asked: {error}");
    }
}
