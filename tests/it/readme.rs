//! The README is true: its examples print what it says, and its tables hold every code.

use dshkit::error::Code;
use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../../README.md");

#[test]
fn every_example_prints_what_the_readme_says() {
    let blocks = console_blocks(README);
    assert!(!blocks.is_empty(), "the README has examples");
    let mut wrong = Vec::new();
    for block in &blocks {
        let commands: Vec<&str> = block.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
        let printed = run(&commands);
        if printed != *block {
            wrong.push(format!("the README says:\n{block}\nand it is:\n{printed}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} examples differ\n\n{}", wrong.len(), blocks.len(), wrong.join("\n"));
}

#[test]
fn every_error_code_stands_in_the_table_with_its_status() {
    for code in Code::ALL {
        let status = match code {
            Code::ReferenceReadFailed => "of the cause".to_owned(),
            code => code.status().to_string(),
        };
        let row = format!("\n| `{}` | {status} | ", code.name());
        assert_eq!(README.matches(&row).count(), 1, "{row:?} stands once in the README");
    }
}

#[test]
fn every_exit_status_stands_in_the_table() {
    for code in Code::ALL {
        let row = format!("\n| {} | ", code.status());
        assert_eq!(README.matches(&row).count(), 1, "{row:?} stands once in the README");
    }
}

/// What stands between the fences of each example.
fn console_blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        match (&mut open, line) {
            (None, "```console") => open = Some(String::new()),
            (Some(_), "```") => blocks.extend(open.take()),
            (Some(block), line) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, _) => {}
        }
    }
    blocks
}

/// What a person sees who types that, line by line, in the root of the repository: the lines, and standard
/// output and error in one.
fn run(commands: &[&str]) -> String {
    let quoted = |command: &str| command.replace('\'', "'\\''");
    let typed: String =
        commands.iter().map(|command| format!("printf '%s\\n' '$ {}'\n{command}\n", quoted(command))).collect();
    let program = Path::new(env!("CARGO_BIN_EXE_dshkit"));
    let programs = program.parent().expect("the program lies in a directory").display();
    let output = Command::new("/bin/sh")
        .args(["-c", &format!("exec 2>&1\n{typed}")])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_clear()
        .env("PATH", format!("{programs}:/usr/bin:/bin"))
        .env("TZ", "UTC")
        .output()
        .expect("the shell runs");
    String::from_utf8(output.stdout).expect("the examples print UTF-8")
}
