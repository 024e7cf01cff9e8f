//! The links of a member of one's own to the others of its group.

use super::{HoldArgs, invalid};
use crate::cli::Failure;
use crate::time::Span;
use crate::topology::{Links, PlannedGroup, place};
use tandem_member::{Config, MeshSettings};

impl HoldArgs {
    /// The configuration, with what the arguments say of it.
    pub(super) fn linked(&self, group: &PlannedGroup, config: Config) -> Result<Config, Failure> {
        let mesh = self.mesh(group, config.mesh)?;
        Ok(Config { mesh, advertise: self.advertise.clone(), ..config })
    }

    /// How it is linked to the other members, if it is asked to be. `planned` is how those are that
    /// Tandem starts.
    fn mesh(
        &self,
        group: &PlannedGroup,
        planned: Option<MeshSettings>,
    ) -> Result<Option<MeshSettings>, Failure> {
        let Some(text) = &self.mesh else { return Ok(None) };
        let name = &self.group;
        let Some(planned) = planned else {
            let what = "--mesh: the members of this group do not stand in for each other: --set";
            return Err(invalid(format!("{what} groups.{name}.on_death=stand-in")));
        };
        // Others may stand in for a member that is late: its claims would be too short for work.
        if let Some(suspect) = planned.suspect {
            let what = format!("--mesh: group {name} suspects members after {}", Span(suspect));
            return Err(invalid(format!("{what}, and no program ends in that time")));
        }
        let listen = place(text).ok_or_else(|| {
            invalid(format!("--mesh: {text:?} is not an IP address, with or without a port"))
        })?;
        let stated = self.mesh_advertise.unwrap_or(listen).ip();
        if let Some(far) = Links::too_far(group.mesh.as_ref(), [listen.ip(), stated]) {
            return Err(invalid(format!(
                "--mesh: {far} is beyond this machine: give group {name} a `mesh` with certificates"
            )));
        }
        if stated.is_unspecified() {
            return Err(invalid("--mesh: say with --mesh-advertise where the others connect to"));
        }
        let advertise = self.mesh_advertise;
        Ok(Some(MeshSettings { listen, advertise, ..planned }))
    }
}
