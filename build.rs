//! Records what Tandem is built from: the commit, and whether its sources differ from that commit.
//! `src/built.rs` reads both.
//!
//! In a clone or a worktree git says both. A package from a registry has no `.git`, but
//! `.cargo_vcs_info.json`, which cargo writes into it. Elsewhere both are unknown.
//!
//! A change of the sources runs this again. A commit that changes no source does so for release
//! builds alone: a debug build keeps the commit that it was made from, and need not be made again.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What a binary is made from. Everything else may change and leaves the build as it is.
const SOURCES: [&str; 7] =
    ["src", "crates", "build.rs", "Cargo.toml", "Cargo.lock", "chaos", "topologies"];
/// Of the last two, experiments and topologies; the pages beside them are no part of it.
const PAGES: &str = ":(exclude,glob)**/*.md";

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    watch_sources(&root);
    let (commit, changed) = of_clone(&root).or_else(|| of_package(&root)).unwrap_or_default();
    println!("cargo:rustc-env=TANDEM_COMMIT={commit}");
    println!("cargo:rustc-env=TANDEM_DIRTY={changed}");
}

fn watch(path: &Path) {
    println!("cargo:rerun-if-changed={}", path.display());
}

/// Cargo looks at all files of a folder: fine where each is a source.
fn watch_sources(root: &Path) {
    for name in SOURCES.iter().filter(|name| root.join(name).exists()) {
        match *name {
            "chaos" | "topologies" => watch_yaml(&root.join(name)),
            _ => watch(&root.join(name)),
        }
    }
}

fn watch_yaml(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            watch_yaml(&path);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            watch(&path);
        }
    }
}

/// What git prints, without changing anything: a `status` would write the index otherwise.
fn git(root: &Path, args: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    git.arg("--no-optional-locks").arg("-C").arg(root).args(args);
    let done = git.output().ok().filter(|done| done.status.success())?;
    Some(String::from_utf8(done.stdout).ok()?.trim().to_owned())
}

/// Of a clone whose root this is: a copy of the sources inside another repository is no part of it.
fn of_clone(root: &Path) -> Option<(String, String)> {
    let top = PathBuf::from(git(root, &["rev-parse", "--show-toplevel"])?);
    if fs::canonicalize(top).ok()? != fs::canonicalize(root).ok()? {
        return None;
    }
    let commit = git(root, &["rev-parse", "HEAD"])?;
    let present: Vec<_> = SOURCES.into_iter().filter(|name| root.join(name).exists()).collect();
    let status = ["status", "--porcelain", "--untracked-files=all", "--"];
    let changes = git(root, &[&status[..], &present, &[PAGES]].concat())?;
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        watch_head(root);
    }
    Some((commit, (!changes.is_empty()).to_string()))
}

/// Where a commit or a checkout shows: in HEAD, which a worktree has for itself, and in the branch,
/// which is a file of its own or, after `git gc`, one of the packed ones. A branch that is packed
/// has no file to watch; its folder changes when it gets one.
fn watch_head(root: &Path) {
    let path = |name: &str| {
        let path = git(root, &["rev-parse", "--git-path", name])?;
        Some(root.join(path))
    };
    for path in ["HEAD", "packed-refs"].into_iter().filter_map(path).filter(|path| path.exists()) {
        watch(&path);
    }
    let branch = git(root, &["symbolic-ref", "--quiet", "HEAD"]);
    let Some(branch) = branch.as_deref().and_then(path) else { return };
    if branch.exists() {
        watch(&branch);
    } else if let Some(folder) = branch.parent().filter(|folder| folder.exists()) {
        watch(folder);
    }
}

/// Of a package: `{"git": {"sha1": "…", "dirty": true}}`, where `dirty` stands only if it is so.
fn of_package(root: &Path) -> Option<(String, String)> {
    let path = root.join(".cargo_vcs_info.json");
    let text = fs::read_to_string(&path).ok()?;
    watch(&path);
    let (_, rest) = text.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?;
    let whole = commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let dirty = text.replace(char::is_whitespace, "").contains("\"dirty\":true");
    whole.then(|| (commit.to_owned(), dirty.to_string()))
}
