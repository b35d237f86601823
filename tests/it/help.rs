//! Help: short with `-h`, examples first with `--help`, the right word where a wrong one was typed.

use crate::support::Sandbox;
use clap::Command as Definition;
use std::process::Command;

/// Every command that does something, as the words after `dshkit`.
pub(crate) fn leaves(command: &Definition) -> Vec<(Vec<String>, Definition)> {
    let below = command.get_subcommands().filter(|below| below.get_name() != "help");
    let mut found = Vec::new();
    for below in below {
        if below.get_subcommands().next().is_none() {
            found.push((vec![below.get_name().to_owned()], below.clone()));
        }
        for (mut words, leaf) in leaves(below) {
            words.insert(0, below.get_name().to_owned());
            found.push((words, leaf));
        }
    }
    found
}

/// The examples in a command's help.
pub(crate) fn examples(command: &Definition) -> Vec<String> {
    let text = command.get_before_long_help().map(ToString::to_string).unwrap_or_default();
    text.lines().filter_map(|line| line.strip_prefix("  ")).map(str::to_owned).collect()
}

/// The arguments with which an example calls dshkit, each time it does.
fn calls(example: &str) -> Vec<Vec<String>> {
    // A shell splits the line; what calls dshkit or anything else runs nothing.
    // Both sides of a pipe may write at once, so each call is written in one go.
    let shell = r#"dshkit() { printf '%s\0' dshkit "$@" end-of-call >&3; }
for name in jq xargs cat my_model; do eval "$name() { cat > /dev/null; }"; done
cat() { :; }
"#;
    let scratch = tempfile::TempDir::new().unwrap();
    let calls = scratch.path().join("calls");
    std::fs::create_dir(scratch.path().join("saved")).unwrap();
    for file in ["message.md", "saved/session-1.txt"] {
        std::fs::write(scratch.path().join(file), "").unwrap();
    }
    let script = format!("exec 3>>'{}'\n{shell}{example}\n", calls.display());
    let status = Command::new("/bin/sh").args(["-c", &script]).current_dir(scratch.path()).output().unwrap().status;
    assert!(status.code().is_some(), "{example}");
    let calls = std::fs::read_to_string(calls).unwrap();
    calls
        .split_terminator("end-of-call\0")
        .map(|call| call.split_terminator('\0').map(str::to_owned).collect())
        .collect()
}

#[test]
fn every_command_has_examples_that_it_understands() {
    let command = dshkit::cli::command();
    let leaves = leaves(&command);
    assert!(leaves.len() >= 20, "{}", leaves.len());
    for (words, leaf) in leaves {
        let name = words.join(" ");
        let examples = examples(&leaf);
        assert!(!examples.is_empty(), "`dshkit {name}` has no examples (`before_long_help`)");
        for example in examples {
            let calls = calls(&example);
            assert!(
                calls.iter().any(|call| call[1..].join(" ").contains(&name)),
                "an example of {name} calls something else: {example}"
            );
            for call in calls {
                let parsed = dshkit::cli::command().try_get_matches_from(&call);
                assert!(parsed.is_ok(), "{example}\n{}", parsed.unwrap_err());
            }
        }
    }
}

#[test]
fn the_short_help_is_short_and_the_long_one_begins_with_examples() {
    let sandbox = Sandbox::new();
    for (words, _) in leaves(&dshkit::cli::command()) {
        let run = |flag| {
            let words: Vec<&str> = words.iter().map(String::as_str).chain([flag]).collect();
            sandbox.run(&words).success().text().to_owned()
        };
        let (short, long) = (run("-h"), run("--help"));
        assert!(!short.contains("--no-cache") && !short.contains("Examples"), "{short}");
        assert!(long.contains("--no-cache"), "{long}");
        assert!(long.find("\nExamples:\n  dshkit").unwrap() < long.find("Usage:").unwrap(), "{long}");
        assert!(short.lines().count() < 60, "{short}");
    }
    let root = sandbox.run(&["-h"]).success();
    assert!(root.text().contains("--home"), "{root}");
}

#[test]
fn a_wrong_word_suggests_the_right_one() {
    let sandbox = Sandbox::new();
    let wrong: [(&[&str], &str); 4] = [
        (&["sesions", "list"], "sessions"),
        (&["sessions", "lst"], "list"),
        (&["sessions", "list", "--limt", "3"], "--limit"),
        (&["sessions", "show", "s1", "--view", "surfce"], "surface"),
    ];
    for (words, right) in wrong {
        let text = sandbox.run(&[words, &["--format", "text"]].concat()).exits(2);
        assert!(text.stderr.contains(&format!("'{right}'")), "{text}");
        let error = sandbox.run(&[words, &["--json"]].concat()).fails(2, "usage");
        assert_eq!(error["hint"], format!("there is `{right}`"));
    }
    let error = sandbox.run(&["sessions", "qqqqq", "--json"]).fails(2, "usage");
    assert_eq!(error["hint"], "`--help` shows what can be said");
}

#[test]
fn an_empty_store_says_where_it_looked() {
    let sandbox = Sandbox::new();
    let sessions = sandbox.sessions().display().to_string();
    let commands: [&[&str]; 7] = [
        &["sessions", "list"],
        &["sessions", "latest"],
        &["sessions", "search", "a"],
        &["sessions", "usage"],
        &["sessions", "check"],
        &["sessions", "show", "latest"],
        &["reference", "prepare", "a"],
    ];
    for command in commands {
        let outcome = sandbox.run(&[command, &["--format", "text"]].concat());
        assert!(outcome.stderr.contains(&format!("there are no sessions in {sessions}\n")), "{outcome}");
        let quiet = sandbox.run(&[command, &["--format", "text", "--quiet"]].concat());
        assert!(!quiet.stderr.contains("there are no sessions"), "{quiet}");
    }
    std::fs::remove_dir(sandbox.sessions()).unwrap();
    let outcome = sandbox.run(&["sessions", "list", "--format", "text"]).success();
    assert_eq!(outcome.stderr, format!("there are no sessions in {sessions}, which does not exist\n"));
}
