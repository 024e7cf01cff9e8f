//! The names that transcripts have for what a broker names by chance: `a-1` for `a-<uuid>`.

use std::collections::{BTreeMap, BTreeSet};

const UUID_LETTERS: usize = 36;

#[derive(Debug, Default)]
pub struct Aliases {
    by_id: BTreeMap<String, String>,
    by_alias: BTreeMap<String, String>,
    /// Every id that was ever answered, by the name that it has here.
    given: BTreeSet<String>,
}

impl Aliases {
    /// What a transcript calls this id. The first id of a client has the number 1.
    pub fn alias(&mut self, id: &str) -> String {
        if let Some(alias) = self.by_id.get(id) {
            return alias.clone();
        }
        let Some(name) = generated(id) else {
            self.given.insert(id.to_owned());
            return id.to_owned();
        };
        let alias = self.next(name);
        self.given.insert(alias.clone());
        self.by_id.insert(id.to_owned(), alias.clone());
        self.by_alias.insert(alias.clone(), id.to_owned());
        alias
    }

    /// The id of this name; what was never named stands for itself.
    pub fn id(&self, alias: &str) -> String {
        self.by_alias.get(alias).cloned().unwrap_or_else(|| alias.to_owned())
    }

    /// Whether this is the name that the next id of its client will have.
    pub fn is_next(&self, alias: &str) -> bool {
        alias.rsplit_once('-').is_some_and(|(name, _)| self.next(name) == alias)
    }

    fn next(&self, name: &str) -> String {
        let prefix = format!("{name}-");
        let before = self.given.iter().filter(|id| id.starts_with(&prefix)).count();
        format!("{name}-{}", before + 1)
    }
}

/// The client's part of an id that ends with a UUID.
fn generated(id: &str) -> Option<&str> {
    let (name, uuid) = id.split_at_checked(id.len().checked_sub(UUID_LETTERS)?)?;
    let form = uuid.chars().all(|letter| letter.is_ascii_hexdigit() || letter == '-');
    name.strip_suffix('-').filter(|_| form)
}
