//! Which module may use what (DESIGN §3). The sources themselves are looked at; what stands in comments
//! and in a file's tests does not count.

use std::fs;
use std::path::Path;

/// A source file: its path below `src`, and its lines that count, each with its number.
struct Source {
    path: String,
    lines: Vec<(usize, String)>,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                found.push(Source { path, lines: lines_that_count(&text) });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 60, "only {} files were found", found.len());
    found
}

/// The lines without comments, up to the tests.
fn lines_that_count(text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let is_tests = |at: usize| lines[at] == "#[cfg(test)]" && lines.get(at + 1).is_some_and(|l| l.starts_with("mod "));
    let end = (0..lines.len()).find(|at| is_tests(*at)).unwrap_or(lines.len());
    let code = |line: &str| line.split_once("//").map_or(line, |(code, _)| code).to_owned();
    lines[..end].iter().enumerate().map(|(index, line)| (index + 1, code(line))).collect()
}

/// Whether a word stands in a line and is not part of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part))
}

/// Every line outside the allowed files that has one of the words.
fn offences(words: &[&str], is_allowed: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| !is_allowed(&source.path)) {
        for (number, line) in &source.lines {
            if words.iter().any(|word| has_word(line, word)) {
                found.push(format!("src/{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    found
}

#[track_caller]
fn assert_none(offences: Vec<String>, rule: &str) {
    assert!(offences.is_empty(), "{rule}:\n{}", offences.join("\n"));
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
}

/// Where a file belongs: the first part of its path.
fn module(path: &str) -> &str {
    path.split_once('/').map_or(path, |(folder, _)| folder).trim_end_matches(".rs")
}

/// The modules of this crate that a line names.
fn modules_named(line: &str) -> Vec<String> {
    let mut named = Vec::new();
    for (at, prefix) in line.match_indices("crate::") {
        let rest = &line[at + prefix.len()..];
        let names = match rest.strip_prefix('{') {
            // The one place for a list is the line of a `use`.
            Some(list) => list.trim_end_matches(['}', ';', ' ']).split(',').collect(),
            None => vec![rest],
        };
        for name in names {
            let end = name.trim().find(|c: char| !c.is_alphanumeric() && c != '_');
            named.push(name.trim()[..end.unwrap_or(name.trim().len())].to_owned());
        }
    }
    named
}

#[test]
fn files_and_databases_are_opened_by_stores() {
    let databases = ["stores", "cache", "config", "projections/cache", "query/index", "sidechat/ledger", "commands"];
    let is_allowed = |path: &str| databases.iter().any(|folder| is_below(path, folder));
    assert_none(
        offences(&["rusqlite", "std::fs", "fs::read", "File::open"], |path| {
            // A selector that is a path is compared with canonical paths.
            is_allowed(path) || path == "corpus/selector.rs"
        }),
        "only stores touch files",
    );
    let canonicalize = offences(&["std::fs"], |path| path != "corpus/selector.rs");
    assert_none(
        canonicalize.into_iter().filter(|line| !line.contains("std::fs::canonicalize(")).collect(),
        "a selector only asks for canonical paths",
    );
}

#[test]
fn only_the_command_line_knows_clap() {
    let is_allowed = |path: &str| is_below(path, "cli") || path == "output.rs" || is_below(path, "commands");
    assert_none(offences(&["clap"], is_allowed), "only the command line knows clap");
}

#[test]
fn only_output_prints() {
    let macros = ["println!", "eprintln!", "print!", "eprint!", "dbg!"];
    assert_none(
        offences(&macros.map(|name| name.trim_end_matches('!')), |_| false)
            .into_iter()
            .filter(|line| macros.iter().any(|name| line.contains(name)))
            .collect(),
        "nothing is printed past the output",
    );
    let streams = ["stdout", "stderr"];
    assert_none(
        offences(&streams, |path| is_below(path, "output") || path == "env.rs")
            .into_iter()
            .filter(|line| line.contains("stdout()") || line.contains("stderr()"))
            .collect(),
        "only the output has the streams",
    );
}

#[test]
fn environment_and_clock_are_passed_in() {
    let words = ["std::env", "env::var", "env::var_os", "SystemTime::now", "Instant::now", "Timestamp::now"];
    assert_none(offences(&words, |path| path == "env.rs"), "only env reads the environment and the clock");
}

#[test]
fn inner_modules_know_nothing_of_outer_ones() {
    // Each may use itself and what stands before it; from the corpus on also the failures with a code.
    let order = ["model", "generations", "stores", "corpus", "cache", "projections", "query", "reference", "sidechat"];
    let mut found = Vec::new();
    for source in sources() {
        let Some(own) = order.iter().position(|name| *name == module(&source.path)) else { continue };
        let knows_errors = own >= 3;
        for (number, line) in &source.lines {
            let may_name = |name: &str| order[..=own].contains(&name) || knows_errors && name == "error";
            if let Some(wrong) = modules_named(line).iter().find(|name| !may_name(name)) {
                found.push(format!("src/{}:{number}: {} may not know {wrong}", source.path, order[own]));
            }
        }
    }
    assert_none(found, "inner modules know nothing of outer ones");
}

#[test]
fn nothing_below_the_commands_knows_them_or_the_output() {
    let inner = [
        "model",
        "generations",
        "stores",
        "corpus",
        "cache",
        "projections",
        "query",
        "reference",
        "sidechat",
        "generator",
        "error",
        "env",
        "config",
    ];
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| inner.contains(&module(&source.path))) {
        for (number, line) in &source.lines {
            if modules_named(line).iter().any(|name| ["cli", "commands", "output"].contains(&name.as_str())) {
                found.push(format!("src/{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    assert_none(found, "the library does not know how it is called");
}

#[test]
fn a_generator_knows_no_side_chat_and_a_side_chat_no_generator() {
    let mut found = Vec::new();
    for source in sources() {
        let forbidden = match module(&source.path) {
            "generator" => |name: &str| !["generator", "model", "error"].contains(&name),
            "sidechat" => |name: &str| name == "generator",
            _ => continue,
        };
        for (number, line) in &source.lines {
            if modules_named(line).iter().any(|name| forbidden(name)) {
                found.push(format!("src/{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    assert_none(found, "who asks a model does not know what for, and the other way round");
}

#[test]
fn files_say_what_they_are_about() {
    let vague = ["utils", "util", "helpers", "helper", "common", "misc", "mod"];
    let names: Vec<String> = sources()
        .into_iter()
        .map(|source| source.path)
        .filter(|path| path.trim_end_matches(".rs").split('/').any(|part| vague.contains(&part)))
        .collect();
    assert_none(names, "a name that says nothing");
}

#[test]
fn the_lines_that_count_leave_out_comments_and_tests() {
    let text = "use a; // clap\n/// clap\nfn b() {}\n\n#[cfg(test)]\nmod tests {\n    use clap;\n}\n";
    let lines: Vec<String> = lines_that_count(text).into_iter().map(|(_, line)| line).collect();
    assert_eq!(lines, ["use a; ", "", "fn b() {}", ""]);
    assert!(has_word("use clap::Args;", "clap") && !has_word("use clapper;", "clap") && !has_word("my_clap", "clap"));
    assert_eq!(modules_named("use crate::model::json::View;"), ["model"]);
    assert_eq!(modules_named("use crate::{corpus, model::uri};"), ["corpus", "model"]);
    assert_eq!(modules_named("pub(crate) fn f() {}"), Vec::<String>::new());
}
