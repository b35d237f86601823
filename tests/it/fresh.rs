//! A fresh machine: nobody's home, no cache, no locale, nothing that may be written. It works, or says plainly why
//! not.

use crate::support::{Outcome, Sandbox, copy_tree, outcome};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The program with nothing but a search path in its environment.
fn bare(sandbox: &Sandbox) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dshkit"));
    command.env_clear().env("PATH", "/usr/bin:/bin").current_dir(sandbox.path("user"));
    command
}

fn run(mut command: Command, arguments: &[&str]) -> Outcome {
    command.args(arguments);
    outcome(command, b"")
}

/// What everybody does first.
const FIRST: [&[&str]; 8] = [
    &["sessions", "list"],
    &["sessions", "list", "--long"],
    &["sessions", "check"],
    &["sessions", "usage"],
    &["sessions", "path"],
    &["sessions", "search", "the"],
    &["sessions", "search", "--index", "the"],
    &["config", "show"],
];

#[test]
fn an_empty_home_is_an_empty_store() {
    let sandbox = Sandbox::new();
    for arguments in FIRST {
        let mut command = bare(&sandbox);
        command.env("HOME", sandbox.path("user"));
        let outcome = run(command, arguments);
        assert!(matches!(outcome.status, Some(0 | 1)), "{outcome}");
        assert!(outcome.stderr.is_empty(), "{outcome}");
    }
    let mut command = bare(&sandbox);
    command.env("HOME", sandbox.path("user"));
    let list = run(command, &["sessions", "list", "--format", "text"]).success();
    let place = sandbox.path("user/.dsh/sessions").display().to_string();
    assert_eq!(list.stderr, format!("there are no sessions in {place}, which does not exist\n"));
    let made: Vec<_> = fs::read_dir(sandbox.path("user")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(made.iter().all(|name| name == ".cache"), "nothing is made but the cache: {made:?}");
}

#[test]
fn without_a_home_one_must_be_named() {
    let sandbox = Sandbox::new();
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
    // Where HOME is not set the system may still know a home directory.
    let mut command = bare(&sandbox);
    command.env("HOME", "");
    let error = run(command, &["sessions", "list", "--json"]);
    assert!(matches!(error.status, Some(0 | 2)), "{error}");
    for arguments in FIRST {
        for unset in [true, false] {
            let mut command = bare(&sandbox);
            if !unset {
                command.env("HOME", "");
            }
            command.arg("--home").arg(&home).arg("--no-cache");
            let outcome = run(command, arguments);
            assert!(matches!(outcome.status, Some(0 | 2 | 8)), "{outcome}");
            assert!(!outcome.stderr.contains("panicked"), "{outcome}");
        }
        // And with a cache that is named.
        let mut command = bare(&sandbox);
        command.env("XDG_CACHE_HOME", sandbox.path("cache")).env("XDG_CONFIG_HOME", sandbox.path("config"));
        command.arg("--home").arg(&home);
        run(command, arguments).success();
    }
}

#[test]
fn text_needs_no_locale() {
    let sandbox = Sandbox::new();
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
    for locale in [None, Some("C"), Some("POSIX"), Some("de_DE.ISO-8859-1"), Some("no such")] {
        let mut command = bare(&sandbox);
        command.env("HOME", sandbox.path("user"));
        if let Some(locale) = locale {
            command.env("LC_ALL", locale).env("LANG", locale);
        }
        command.arg("--home").arg(&home);
        let list = run(command, &["sessions", "list", "--format", "text"]).success();
        assert!(list.text().contains("ideas/gift wrap 🎁"), "{list}");
    }
}

#[test]
fn a_home_that_may_not_be_written_is_read() {
    let sandbox = Sandbox::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
    copy_tree(&examples, &sandbox.path("user/.dsh"));
    // A file where the cache would be is what even root cannot make a directory in.
    fs::write(sandbox.path("user/.cache"), "").unwrap();
    fs::write(sandbox.path("user/.config"), "").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(sandbox.path("user"), fs::Permissions::from_mode(0o555)).unwrap();
    }
    for arguments in FIRST {
        let mut command = bare(&sandbox);
        command.env("HOME", sandbox.path("user"));
        let outcome = run(command, arguments).success();
        // What does not work makes things slower and is told.
        assert!(outcome.stderr.lines().all(|line| line.starts_with("warning: ")), "{outcome}");
        let mut command = bare(&sandbox);
        command.env("HOME", sandbox.path("user")).arg("--home").arg(&examples).arg("-q");
        assert!(run(command, arguments).success().stderr.is_empty());
    }
    let mut command = bare(&sandbox);
    command.env("HOME", sandbox.path("user"));
    run(command, &["index", "build", "--json"]).fails(8, "SESSION_QUERY_INDEX_FAILED");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(sandbox.path("user"), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_working_directory_that_is_gone_is_no_matter() {
    let sandbox = Sandbox::new();
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
    let gone = sandbox.path("gone");
    fs::create_dir(&gone).unwrap();
    let mut command = Command::new("/bin/sh");
    command.env_clear().env("HOME", sandbox.path("user")).current_dir(&gone);
    command.args(["-c", "rmdir \"$PWD\" && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_dshkit")]);
    command.arg("--home").arg(&home);
    let list = run(command, &["sessions", "list", "--json"]).success();
    assert_eq!(list.json()["sessions"].as_array().unwrap().len(), 6);
}
