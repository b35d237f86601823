//! Puts version and commit into the program. Without git, or where the sources are no repository, the version alone.

#![expect(clippy::disallowed_methods, reason = "a build script is told by the environment")]

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=DSHKIT_COMMIT");
    // Sources from a package may say what they were made from.
    let stated = std::env::var("DSHKIT_COMMIT").ok().filter(|commit| !commit.is_empty());
    let version = env!("CARGO_PKG_VERSION");
    match stated.or_else(commit) {
        Some(commit) => println!("cargo:rustc-env=DSHKIT_VERSION={version} ({commit})"),
        None => println!("cargo:rustc-env=DSHKIT_VERSION={version}"),
    }
}

/// The commit of the repository whose root this is.
fn commit() -> Option<String> {
    // A repository around the sources, such as that of a distribution, is not theirs.
    if !Path::new(".git").exists() {
        return None;
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    // A commit moves a branch, and that is written into the log of HEAD.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists()) {
        println!("cargo:rerun-if-changed={log}");
    }
    Some(commit)
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
