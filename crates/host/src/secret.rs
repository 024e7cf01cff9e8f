//! Secrets: where a value is stored, as files write it, and how to read it at the last moment.

use std::fmt;
use std::io::{self, Read as _};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest value that is read from a file: a chain of certificates is far shorter.
const BYTES_MAX: u64 = 256 << 10;

/// The location of a value that must not be written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Secret {
    /// In this environment variable.
    Env(String),
    /// In this file, without its last line break.
    File(String),
}

/// As an argument: `env:NAME` or `file:PATH`.
impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{path}"),
        }
    }
}

impl FromStr for Secret {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("env", name)) => Ok(Self::Env(name.to_owned())),
            Some(("file", path)) => Ok(Self::File(path.to_owned())),
            Some(_) | None => Err("write env:NAME or file:PATH, never the value itself"),
        }
    }
}

/// Why a secret cannot be read. The message names the location, never the value.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The environment variable is not set.
    #[error("the environment has no variable {0}")]
    NoVariable(String),
    /// The variable is not text.
    #[error("variable {0} of the environment is not UTF-8")]
    OddVariable(String),
    /// The file cannot be read.
    #[error("cannot read the file {path}")]
    File {
        /// The file.
        path: String,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The file is too long for a secret, and is not read to its end.
    #[error("the file {0} is longer than {BYTES_MAX} bytes")]
    Long(String),
    /// The value is empty.
    #[error("{0} is empty")]
    Empty(String),
}

/// Reads the secret. Call it at the last moment, and show the value to no user.
///
/// # Errors
/// The secret is not at its location.
pub fn fetch(secret: &Secret) -> Result<String, SecretError> {
    let (place, value) = match secret {
        Secret::Env(name) => {
            let value = std::env::var(name).map_err(|error| match error {
                std::env::VarError::NotPresent => SecretError::NoVariable(name.clone()),
                std::env::VarError::NotUnicode(_) => SecretError::OddVariable(name.clone()),
            })?;
            (format!("variable {name} of the environment"), value)
        }
        Secret::File(path) => {
            let unread = |source| SecretError::File { path: path.clone(), source };
            let mut text = String::new();
            let file = std::fs::File::open(path).map_err(unread)?;
            file.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(unread)?;
            if u64::try_from(text.len()).is_ok_and(|length| length > BYTES_MAX) {
                return Err(SecretError::Long(path.clone()));
            }
            let line = text.strip_suffix('\n').unwrap_or(&text);
            let line = line.strip_suffix('\r').unwrap_or(line);
            (format!("the file {path}"), line.to_owned())
        }
    };
    if value.is_empty() { Err(SecretError::Empty(place)) } else { Ok(value) }
}
