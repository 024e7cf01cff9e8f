//! How the members of a group reach each other: by links, or over NATS.

use std::sync::mpsc::SyncSender;

use super::folder::Folder;
use super::links::Links;
use super::subjects::Subjects;
use super::{AmongConfig, Input, VotesError};
use crate::neli::elections::among::{Frame, Peer};

/// The ways to the other members.
pub(super) enum Ways {
    /// Unix sockets, on one machine.
    Links(Links),
    /// Subjects of NATS.
    Subjects(Subjects),
}

impl Ways {
    /// Begins to connect.
    pub(super) fn start(
        config: &AmongConfig,
        folder: &Folder,
        me: Peer,
        inputs: &SyncSender<Input>,
    ) -> Result<Self, VotesError> {
        match &config.nats {
            None => Links::start(folder, &config.members, me, inputs).map(Self::Links),
            Some(nats) => Subjects::start(nats, config, me, inputs).map(Self::Subjects),
        }
    }

    /// Sends a message, if there is room for it.
    pub(super) fn send(&self, to: Peer, message: Frame) {
        match self {
            Self::Links(links) => links.send(to, message),
            Self::Subjects(subjects) => subjects.send(to, message),
        }
    }

    /// Gives the last messages a moment to leave, and ends all connections.
    pub(super) fn end(self) {
        match self {
            Self::Links(links) => links.end(),
            Self::Subjects(subjects) => subjects.end(),
        }
    }
}
