//! `tandem init`: writes the files that are compiled into the program.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::Failure;
use crate::chaos::{SHIPPED, Shipped};
use crate::verdict::Exit;

/// Write the shipped topologies, experiments and suites into a folder, as a starting point.
///
/// Commands find the shipped files without this: `chaos/kill-leader.yaml` means the file of that
/// name if it exists, else the shipped one. Nothing is overwritten: if one of the files exists
/// already, none is written.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem init mine                               into ./mine/chaos and ./mine/topologies
  tandem init --list                             the shipped files, a line each")]
pub(super) struct InitArgs {
    /// The folder; it is created if it is missing.
    #[arg(value_name = "DIR", required_unless_present = "list")]
    dir: Option<PathBuf>,
    /// List the shipped files, and write nothing.
    #[arg(long, conflicts_with = "dir")]
    list: bool,
}

/// Writes the files, or prints their list.
pub(super) fn run(args: &InitArgs) -> Result<Exit, Failure> {
    let Some(dir) = &args.dir else { return super::print(listed().as_bytes()) };
    let there = SHIPPED.iter().map(|file| dir.join(file.path)).find(|path| path.exists());
    if let Some(path) = there {
        let why = "exists already, and nothing was written: name another folder";
        return Err(Failure::text(Exit::Unable, format!("{} {why}", path.display())));
    }
    for file in SHIPPED {
        write(dir, file)?;
    }
    let (count, dir) = (SHIPPED.len(), dir.display());
    super::print(format!("{dir}: {count} files; see {dir}/chaos and {dir}/topologies\n").as_bytes())
}

fn write(dir: &Path, file: &Shipped) -> Result<(), Failure> {
    let path = dir.join(file.path);
    let cannot = |error: std::io::Error| {
        Failure::text(Exit::Unable, format!("cannot write {}: {error}", path.display()))
    };
    fs::create_dir_all(path.parent().unwrap_or(dir)).map_err(cannot)?;
    // `create_new`: another process may create the file at the same time.
    let mut file_there =
        OpenOptions::new().write(true).create_new(true).open(&path).map_err(cannot)?;
    file_there.write_all(file.text.as_bytes()).map_err(cannot)
}

/// Each experiment, suite and topology with the first sentence of its header.
fn listed() -> String {
    let shown = SHIPPED.iter().filter(|file| file.path.ends_with(".yaml"));
    let width = shown.clone().map(|file| file.path.len()).max().unwrap_or_default();
    shown.map(|file| format!("{:width$}  {}\n", file.path, sentence(file.text))).collect()
}

/// The first sentence of a file's header comment.
fn sentence(text: &str) -> String {
    let head = text.lines().map_while(|line| line.strip_prefix("# "));
    let head = head.collect::<Vec<_>>().join(" ");
    head.split(['.', ':']).next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::sentence;

    #[test]
    fn a_file_is_listed_by_its_first_sentence() {
        assert_eq!(
            sentence("# Kills the leader\n# of a role: that is all.\nversion: 1"),
            "Kills the leader of a role"
        );
        assert_eq!(sentence("version: 1"), "");
    }
}
