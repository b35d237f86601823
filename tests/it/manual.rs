//! The manual: man pages made from the definitions of the commands, the README's tables and the schemas. They lie
//! in `man/`, and are current if they are what is made now. `DSHKIT_UPDATE=1 cargo test manual` writes them.

use crate::help::examples;
use crate::support::variable;
use crate::terminal::has;
use clap::Command as Definition;
use clap_mangen::Man;
use dshkit::output::schema::{ALL, Entry};
use roff::{Roff, bold, italic, roman};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const README: &str = include_str!("../../README.md");
/// When the pages were last worth reading anew.
const DATE: &str = "2026-11-30";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("man")
}

/// The rows of the README's table with this heading, without the marks of code.
fn table(heading: &str) -> Vec<Vec<String>> {
    let start = README.find(&format!("\n| {heading} |")).unwrap_or_else(|| panic!("no table {heading:?}"));
    let rows = README[start + 1..].lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| -> Vec<String> {
        let cells = line.trim_matches('|').split(" | ");
        cells.map(|cell| cell.trim().replace('`', "")).collect()
    };
    rows.map(cells).collect()
}

/// A section of terms and what they mean.
fn terms(roff: &mut Roff, title: &str, rows: impl IntoIterator<Item = (String, String)>) {
    roff.control("SH", [title]);
    for (term, meaning) in rows {
        roff.control("TP", []);
        roff.text([bold(term)]);
        roff.text([roman(meaning)]);
    }
}

/// The rows of a table as terms; of three columns the middle one stands in brackets.
fn rows(heading: &str) -> Vec<(String, String)> {
    let row = |cells: Vec<String>| match &cells[..] {
        [term, meaning] => (term.clone(), format!("{meaning}.")),
        [term, between, meaning] => (format!("{term} ({between})"), format!("{meaning}.")),
        other => panic!("{heading}: {other:?}"),
    };
    table(heading).into_iter().map(row).collect()
}

/// What clarifying something costs, a way as a term.
fn costs() -> Vec<(String, String)> {
    let spent = |who: &str, cells: &[String]| match cells {
        [calls, ..] if calls == "0" => format!("{who}: no calls."),
        [calls, input, cached, output] => {
            format!("{who}: {calls} calls, {input} tokens in, {cached} of them cached, {output} out.")
        }
        other => panic!("{other:?}"),
    };
    let row = |cells: Vec<String>| {
        let of = [spent("A", &cells[1..5]), spent("B", &cells[5..9])].join(" ");
        (cells[0].clone(), format!("{of} Not cached: {}.", cells[9]))
    };
    table("where it is cleared up").into_iter().map(row).collect()
}

/// The page of a command.
fn page(command: &Definition, name: &str, is_root: bool) -> String {
    let shown = command.clone().mut_args(|arg| {
        let is_hidden = arg.is_global_set() && !is_root;
        if is_hidden { arg.hide(true) } else { arg }
    });
    let has_help = shown.find_subcommand("help").is_some();
    let shown = if has_help { shown.mut_subcommand("help", |help| help.hide(true)) } else { shown };
    let man = Man::new(shown).title(name.to_uppercase()).date(DATE).source(version()).manual("dshkit");
    let mut page = Vec::new();
    man.render_title(&mut page).unwrap();
    man.render_name_section(&mut page).unwrap();
    man.render_synopsis_section(&mut page).unwrap();
    man.render_description_section(&mut page).unwrap();
    let mut roff = Roff::new();
    if !is_root {
        roff.control("PP", []);
        roff.text([roman("It also takes the options of every command, which "), bold("dshkit"), roman("(1) lists.")]);
        roff.to_writer(&mut page).unwrap();
    }
    man.render_options_section(&mut page).unwrap();
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page).unwrap();
    }
    let mut roff = Roff::new();
    if let Some(text) = command.get_after_help() {
        extra(&mut roff, &text.to_string());
    }
    let examples = examples(command);
    if !examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]);
        for example in examples {
            roff.control("PP", []);
            roff.control("RS", ["4"]);
            roff.text([roman(example)]);
            roff.control("RE", []);
        }
    }
    if name == "dshkit-sidechat" {
        terms(&mut roff, "TOKENS", costs());
    }
    terms(&mut roff, "EXIT STATUS", rows("status"));
    if is_root {
        terms(&mut roff, "ERRORS", rows("code"));
        terms(&mut roff, "ENVIRONMENT", rows("variable"));
        terms(&mut roff, "FILES", rows("file"));
    }
    roff.control("SH", ["SEE ALSO"]);
    let mut also = vec![bold("dshkit-json"), roman("(7)")];
    if !is_root {
        also = [vec![bold("dshkit"), roman("(1), ")], also].concat();
    }
    roff.text(also);
    roff.to_writer(&mut page).unwrap();
    tidy(&String::from_utf8(page).unwrap())
}

/// What a formatter looks for and the maker of pages does not care about: the preamble once, no paragraph that is
/// empty or right behind a heading, no long lines in the source.
fn tidy(page: &str) -> String {
    let mut out = String::new();
    let mut lines = page.lines().map(str::trim_end).peekable();
    let mut before = "";
    let mut is_filled = true;
    while let Some(line) = lines.next() {
        let is_preamble = line.starts_with(".ie ") || line.starts_with(".el ");
        let next = lines.peek().copied().unwrap_or_default();
        let is_no_paragraph =
            line == ".PP" && (before.starts_with(".S") || next.starts_with(".SH") || next.starts_with(".PP"));
        if line.is_empty() || line == ".br" || is_no_paragraph || is_preamble && out.contains(line) {
            continue;
        }
        before = line;
        is_filled = if is_filled { line != ".nf" } else { line == ".fi" };
        out.push_str(&if is_filled && !line.starts_with(['.', '\'']) { wrapped(line) } else { line.to_owned() });
        out.push('\n');
    }
    out
}

/// Filled text on lines of no more than 80 bytes; none begins as a request does.
fn wrapped(line: &str) -> String {
    let mut out = String::new();
    let mut width = 0;
    for word in line.split(' ') {
        let fits = width + 1 + word.len() <= 80 || word.is_empty() || word.starts_with(['.', '\'']);
        if width > 0 {
            out.push(if fits { ' ' } else { '\n' });
            width = if fits { width + 1 } else { 0 };
        }
        out.push_str(word);
        width += word.len();
    }
    out
}

/// What stands behind a help: paragraphs, and lines that stay as they are because they are indented.
fn extra(roff: &mut Roff, text: &str) {
    roff.control("SH", ["MORE"]);
    let mut is_kept = false;
    for line in text.lines() {
        let keeps = line.starts_with("  ");
        if keeps != is_kept {
            roff.control(if keeps { "nf" } else { "fi" }, []);
            is_kept = keeps;
        }
        if line.is_empty() {
            roff.control("PP", []);
        } else {
            roff.text([roman(line)]);
        }
    }
    if is_kept {
        roff.control("fi", []);
    }
}

fn version() -> String {
    format!("dshkit {}", env!("CARGO_PKG_VERSION"))
}

/// The pages of a command and of all below it.
fn pages_of(command: &Definition, name: &str, pages: &mut BTreeMap<String, String>) {
    pages.insert(format!("{name}.1"), page(command, name, name == "dshkit"));
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        pages_of(below, &format!("{name}-{}", below.get_name()), pages);
    }
}

/// The page of every document and member.
fn json_page() -> String {
    let mut roff = Roff::new();
    roff.control("TH", ["DSHKIT-JSON", "7", DATE, &version(), "dshkit"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman("dshkit-json - the JSON documents that dshkit prints")]);
    roff.control("SH", ["DESCRIPTION"]);
    roff.text([roman(
        "With --json, and wherever standard output is no terminal, a command prints one document. Its member schema is its \
         name and version. With --jsonl it prints the members of the document's list as records, one a line, as they are \
         found; among them may be records {\"problem\": ...} or {\"note\": ...} of what could not be read, and at the end \
         {\"nextCursor\": ...}. Times are milliseconds since the epoch. What is not known is null. A document may gain \
         members; if one is taken away or changes its meaning, the number at the end of the name changes.",
    )]);
    roff.control("PP", []);
    roff.text([roman("The JSON Schema of a document is printed by "), bold("dshkit schema"), roman(".")]);
    let mut parts: BTreeMap<String, Value> = BTreeMap::new();
    roff.control("SH", ["DOCUMENTS"]);
    for entry in ALL {
        document(&mut roff, &entry, &mut parts);
    }
    roff.control("SH", ["PARTS"]);
    for (name, part) in &parts {
        roff.control("SS", [name.as_str()]);
        described(&mut roff, part);
    }
    roff.control("SH", ["SEE ALSO"]);
    roff.text([bold("dshkit"), roman("(1), "), bold("dshkit-schema"), roman("(1)")]);
    tidy(&roff.to_roff())
}

fn document(roff: &mut Roff, entry: &Entry, parts: &mut BTreeMap<String, Value>) {
    let schema = entry.json();
    roff.control("SS", [entry.schema]);
    described(roff, &schema);
    for (name, part) in schema["$defs"].as_object().into_iter().flatten() {
        let other = parts.insert(plain(name), part.clone());
        assert!(other.is_none_or(|other| other == *part), "two parts are named {name}");
    }
}

/// A part's name without what only says that it is a type of ours.
fn plain(name: &str) -> String {
    name.trim_end_matches("Document").trim_end_matches("Shape").to_owned()
}

/// What a schema says: what it is, its members, and what it may be instead.
fn described(roff: &mut Roff, schema: &Value) {
    if let Some(description) = schema["description"].as_str() {
        let text: Vec<String> = description.lines().map(|line| line.replace('`', "")).collect();
        roff.text([roman(text.join(" "))]);
    }
    if let Some(kinds) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        let tells = |kind: &Value| kind["properties"].is_object() && kind["description"].is_string();
        if kinds.iter().all(tells) {
            for kind in kinds {
                roff.control("PP", []);
                described(roff, kind);
            }
        } else {
            let kinds: Vec<String> = kinds.iter().map(kind).collect();
            roff.control("PP", []);
            roff.text([roman(format!("It is {}.", kinds.join(", or ")))]);
        }
    }
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (member, value) in schema["properties"].as_object().into_iter().flatten() {
        roff.control("TP", []);
        let may_miss = if required.contains(&member.as_str()) { "" } else { ", may be left out" };
        roff.text([bold(member.as_str()), roman(" ("), italic(kind(value)), roman(format!("{may_miss})"))]);
        // The member that tells variants apart has no description of its own.
        let description = value["description"].as_str().unwrap_or("Which of them it is.");
        roff.text([roman(description.replace('`', "").replace('\n', " "))]);
    }
}

/// The type of a value in words.
fn kind(schema: &Value) -> String {
    if let Some(part) = schema["$ref"].as_str() {
        return plain(part.rsplit('/').next().unwrap());
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" or ");
    }
    if let Some(kinds) = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array()) {
        return kinds.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    let one = |name: &str| match name {
        "array" => format!("list of {}", kind(&schema["items"])),
        "object" if schema["additionalProperties"].is_object() => {
            format!("object of {}", kind(&schema["additionalProperties"]))
        }
        "object" if schema["properties"].is_object() => "the same with only some members".to_owned(),
        name => name.to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => one(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).map(one).collect::<Vec<_>>().join(" or "),
        _ => "any JSON".to_owned(),
    }
}

fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    pages_of(&dshkit::cli::command(), "dshkit", &mut pages);
    pages.insert("dshkit-json.7".to_owned(), json_page());
    pages
}

#[test]
fn the_pages_are_current() {
    let pages = pages();
    assert!(pages.len() > 25, "{:?}", pages.keys());
    if variable("DSHKIT_UPDATE").is_some() {
        let _ = fs::remove_dir_all(folder());
        fs::create_dir_all(folder()).unwrap();
        for (name, text) in &pages {
            fs::write(folder().join(name), text).unwrap();
        }
        return;
    }
    let lying = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut lying: Vec<String> = lying.collect();
    lying.sort();
    assert_eq!(lying, pages.keys().cloned().collect::<Vec<_>>(), "`DSHKIT_UPDATE=1 cargo test manual` writes them");
    for (name, text) in &pages {
        let lies = fs::read_to_string(folder().join(name)).unwrap();
        assert!(lies == *text, "man/{name} is not current; `DSHKIT_UPDATE=1 cargo test manual` writes it");
    }
}

#[test]
fn every_page_has_what_a_page_must_have() {
    for (name, text) in pages() {
        for section in ["NAME", "DESCRIPTION"] {
            assert!(text.contains(&format!("\n.SH {section}\n")), "{name} has no {section}");
        }
        if name.ends_with(".1") {
            assert!(text.contains("\n.SH \"EXIT STATUS\"\n"), "{name} has no exit statuses");
        }
    }
    let pages = pages();
    let root = &pages["dshkit.1"];
    for code in dshkit::error::Code::ALL {
        let name = code.name().replace('-', "\\-");
        assert!(root.contains(&name), "{name} is not in the manual");
    }
    let environment = include_str!("../../src/env.rs");
    let quoted = environment.split('"').skip(1).step_by(2);
    let variables: Vec<&str> =
        quoted.filter(|word| word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_')).collect();
    assert!(variables.len() >= 8, "{variables:?}");
    for variable in variables.iter().filter(|name| !name.starts_with('_')) {
        assert!(root.contains(&format!("\\fB{variable}\\fR")), "{variable} is not in the manual");
    }
    for (words, command) in crate::help::leaves(&dshkit::cli::command()) {
        let page = &pages[&format!("dshkit-{}.1", words.join("-"))];
        assert!(page.contains("\n.SH EXAMPLES\n"), "{words:?}");
        for arg in command.get_arguments().filter(|arg| !arg.is_global_set()).filter_map(clap::Arg::get_long) {
            assert!(
                page.replace('\n', " ").contains(&format!("\\-\\-{}", arg.replace('-', "\\-"))),
                "{words:?}: --{arg}"
            );
        }
    }
}

#[test]
fn a_formatter_finds_nothing_wrong() {
    if !has("the manual", &["mandoc"]) {
        return;
    }
    let mut command = Command::new("mandoc");
    command.args(["-T", "lint", "-W", "style"]).current_dir(folder());
    command.args(pages().keys());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{}", said.lines().take(40).collect::<Vec<_>>().join("\n"));
}
