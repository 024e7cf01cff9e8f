//! The key of a topology's orders: where its file says, or in a file of this user.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use ring::rand::{SecureRandom, SystemRandom};

use super::OrderKey;
use crate::guard::state_home;
use crate::ids::TopologyName;
use crate::secret::{Secret, SecretError, fetch};

/// The length of a new key, in bytes.
const LENGTH: usize = 32;

/// Orders can neither be given nor taken.
#[derive(Debug, thiserror::Error)]
pub enum OrdersError {
    /// It is not where the topology says.
    #[error("the key of orders cannot be read")]
    Secret(#[from] SecretError),
    /// The user's own file cannot be made.
    #[error("the key of orders cannot be made")]
    File(#[from] io::Error),
    /// The system refuses a thread.
    #[error("orders have no thread")]
    Thread(#[source] io::Error),
}

/// The key of a topology. Without a place, that of this user, which is made if it is missing.
///
/// # Errors
/// It cannot be read or made.
pub fn order_key(topology: &TopologyName, place: Option<&Secret>) -> Result<OrderKey, OrdersError> {
    let place = match place {
        Some(place) => place.clone(),
        None => Secret::File(own_file(topology)?.display().to_string()),
    };
    Ok(OrderKey::new(&fetch(&place)?))
}

/// The user's own file, which is there when this returns.
fn own_file(topology: &TopologyName) -> io::Result<PathBuf> {
    let folder = state_home().join("tandem/order-keys");
    let path = folder.join(topology.as_str());
    if path.exists() {
        return Ok(path);
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    // It has its name only once it is whole: another process may be doing the same.
    let draft = folder.join(format!(".{topology}-{}", std::process::id()));
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    writeln!(file, "{}", random(LENGTH)?)?;
    file.sync_all()?;
    let linked = fs::hard_link(&draft, &path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(path),
    }
}

/// So many random bytes, in hexadecimal digits.
pub(super) fn random(length: usize) -> io::Result<String> {
    let mut bytes = vec![0; length];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system has no random numbers"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
