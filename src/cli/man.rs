//! `tandem man`: the manual, one page per command.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;

use super::{Failure, command};
use crate::verdict::Exit;

/// The footer of a page: only the version, so that all builds of a version make the same page.
const SOURCE: &str = concat!("tandem ", env!("CARGO_PKG_VERSION"));

/// Print the manual, or write it into a folder, one page per command.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "\
Examples:
  tandem man | man -l -                          the first page
  tandem man ~/.local/share/man/man1             all pages; then `man tandem-chaos-run`")]
pub(super) struct ManArgs {
    /// The folder for all pages, created if it is missing [default: print the first page].
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Prints the first page, or writes all pages.
pub(super) fn run(args: &ManArgs) -> Result<Exit, Failure> {
    let mut all = command().disable_help_subcommand(true);
    all.build();
    let Some(dir) = &args.dir else { return super::print(&page(&all)?) };
    let failed = |path: &Path, error: std::io::Error| {
        Failure::text(Exit::Unable, format!("cannot write {}: {error}", path.display()))
    };
    fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
    let mut commands = vec![&all];
    while let Some(one) = commands.pop() {
        let path = dir.join(Man::new(one.clone()).get_filename());
        fs::write(&path, page(one)?).map_err(|error| failed(&path, error))?;
        commands.extend(one.get_subcommands().filter(|one| !one.is_hide_set()));
    }
    Ok(Exit::Pass)
}

/// One page. Examples and exit codes keep their lines, as in `--help`.
fn page(of: &Command) -> Result<Vec<u8>, Failure> {
    let man = Man::new(of.clone()).manual("Tandem").source(SOURCE);
    let mut page = Vec::new();
    let mut render = || {
        man.render_title(&mut page)?;
        man.render_name_section(&mut page)?;
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
        if of.get_subcommands().any(|one| !one.is_hide_set()) {
            man.render_subcommands_section(&mut page)?;
        }
        std::io::Result::Ok(())
    };
    render().map_err(|error| Failure::new(Exit::Unable, &error))?;
    let after = of.get_after_help().map(ToString::to_string).unwrap_or_default();
    page.extend(sections(&after).into_bytes());
    Ok(page)
}

/// `Examples:` and `Exit codes: …` as sections of their own, the rest as notes.
fn sections(after: &str) -> String {
    let mut roff = String::new();
    for part in after.split("\n\n").filter(|part| !part.trim().is_empty()) {
        let (heading, text) = match part.split_once(':') {
            Some(("Examples", text)) => ("EXAMPLES", text),
            Some(("Exit codes", text)) => ("\"EXIT STATUS\"", text),
            Some(_) | None => ("NOTES", part),
        };
        roff.push_str(&format!(".SH {heading}\n.nf\n"));
        for line in text.trim_matches('\n').lines() {
            // A dot or an apostrophe at the start of a line would be a request to roff.
            let line = line.trim_start_matches(' ').replace('\\', "\\e").replace('-', "\\-");
            roff.push_str(&format!("\\&{line}\n"));
        }
        roff.push_str(".fi\n");
    }
    roff
}
