//! All topics, by name and by id (KIP-516).

use std::collections::BTreeMap;

use uuid::Uuid;

use super::topic::Topic;

#[derive(Debug, Default)]
pub(super) struct Topics {
    topics: BTreeMap<String, Topic>,
    names: BTreeMap<Uuid, String>,
}

impl Topics {
    pub(super) fn get(&self, name: &str) -> Option<&Topic> {
        self.topics.get(name)
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Topic> {
        self.topics.get_mut(name)
    }

    /// The topic with this id, and its name.
    pub(super) fn by_id(&self, id: Uuid) -> Option<(&str, &Topic)> {
        let name = self.names.get(&id)?;
        Some((name, self.topics.get(name)?))
    }

    /// The same, to be changed.
    pub(super) fn by_id_mut(&mut self, id: Uuid) -> Option<&mut Topic> {
        self.topics.get_mut(self.names.get(&id)?)
    }

    /// Adds a topic, whose name must be free.
    pub(super) fn insert(&mut self, name: String, topic: Topic) {
        self.names.insert(topic.id, name.clone());
        self.topics.insert(name, topic);
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<(String, Topic)> {
        let (name, topic) = self.topics.remove_entry(name)?;
        self.names.remove(&topic.id);
        Some((name, topic))
    }

    /// In the order of their names.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Topic)> {
        self.topics.iter().map(|(name, topic)| (name.as_str(), topic))
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Topic> {
        self.topics.values()
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Topic> {
        self.topics.values_mut()
    }
}
