//! The recording in the README: what a terminal shows for the commands in `docs/recording.txt`, drawn as SVG. The
//! picture is current if it is what is drawn now. `DSHKIT_UPDATE=1 cargo test recording` draws it anew.

use crate::support::{Sandbox, variable};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

const COLUMNS: usize = 108;
/// The size of a character's place in the picture.
const CELL: (usize, usize) = (8, 18);
/// How long a command takes to be typed, and how long there is to read, in tenths of a second.
const TYPING: usize = 8;
const READING: usize = 22;

/// A line of the screen, and when it appears, in tenths of a second.
struct Line {
    text: String,
    at: usize,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn lines() -> Vec<Line> {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("config/dshkit")).unwrap();
    // A terminal is what the program cannot have here; this is how it prints to one.
    fs::write(sandbox.path("config/dshkit/config.toml"), "format = \"text\"\n").unwrap();
    let script = fs::read_to_string(root().join("docs/recording.txt")).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_dshkit")).parent().unwrap().display().to_string();
    let mut lines = Vec::new();
    let mut now = 4;
    for command in script.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        lines.push(Line { text: format!("\u{1b}[36m$\u{1b}[0m {command}"), at: now });
        now += TYPING;
        let output = Command::new("/bin/sh")
            .args(["-c", &format!("exec 2>&1; {command}")])
            .current_dir(root())
            .env_clear()
            .envs(sandbox.command().get_envs().filter_map(|(name, value)| Some((name, value?))))
            .env("PATH", format!("{programs}:/usr/bin:/bin"))
            .env("DSH_HOME", "examples/home")
            .env("COLUMNS", COLUMNS.to_string())
            .env("CLICOLOR_FORCE", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}");
        let text = String::from_utf8(output.stdout).unwrap();
        for line in text.lines() {
            lines.extend(folded(line).into_iter().map(|text| Line { text, at: now }));
        }
        lines.push(Line { text: String::new(), at: now });
        now += READING;
    }
    lines
}

/// A line as a terminal breaks it. Only lines without colour are so long.
fn folded(line: &str) -> Vec<String> {
    let mut folded = vec![String::new()];
    let mut width = 0;
    let mut is_code = false;
    for c in line.chars() {
        is_code = is_code || c == '\u{1b}';
        let wide = if is_code { 0 } else { unicode_width::UnicodeWidthChar::width(c).unwrap_or(0) };
        if width + wide > COLUMNS {
            folded.push(String::new());
            width = 0;
        }
        folded.last_mut().unwrap().push(c);
        width += wide;
        is_code = is_code && c != 'm';
    }
    folded
}

/// A line as the parts of an SVG text, each in its style and at its column.
fn spans(line: &str) -> String {
    let mut out = String::new();
    let mut style = "";
    let mut column = 0;
    for (index, part) in line.split("\u{1b}[").enumerate() {
        let text = if index == 0 {
            part
        } else {
            let (code, text) = part.split_once('m').expect("a code ends");
            style = match code {
                "1" => "b",
                "2" => "d",
                "36" => "c",
                "33" => "y",
                _ => "",
            };
            text
        };
        if text.is_empty() {
            continue;
        }
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let class = if style.is_empty() { String::new() } else { format!(" class=\"{style}\"") };
        let _ = write!(out, "<tspan x=\"{}\"{class}>{escaped}</tspan>", 12 + column * CELL.0);
        column += unicode_width::UnicodeWidthStr::width(text);
    }
    out
}

fn drawn() -> String {
    let lines = lines();
    let (width, height) = (COLUMNS * CELL.0 + 24, lines.len() * CELL.1 + 24);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\">\n<title>dshkit in a terminal</title>\n<style>\n\
         rect {{ fill: #16181d }}\n\
         text {{ fill: #d5d8de; font: 13px/1.4 ui-monospace, Menlo, Consolas, monospace; white-space: pre }}\n\
         .b {{ font-weight: bold }} .d {{ opacity: .6 }} .c {{ fill: #6cc7d9 }} .y {{ fill: #e0b35a }}\n\
         g {{ animation: appear .01s both }}\n\
         @keyframes appear {{ from {{ visibility: hidden }} to {{ visibility: visible }} }}\n\
         @media (prefers-reduced-motion: reduce) {{ g {{ animation: none }} }}\n</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\"/>\n"
    );
    let mut open = None;
    for (row, line) in lines.iter().enumerate().filter(|(_, line)| !line.text.is_empty()) {
        if open != Some(line.at) {
            svg.push_str(if open.is_some() { "</g>\n" } else { "" });
            let _ = writeln!(svg, "<g style=\"animation-delay: {}.{}s\">", line.at / 10, line.at % 10);
            open = Some(line.at);
        }
        let _ = writeln!(svg, "<text y=\"{}\" xml:space=\"preserve\">{}</text>", 26 + row * CELL.1, spans(&line.text));
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

#[test]
fn the_recording_is_current() {
    let place = root().join("docs/recording.svg");
    let drawn = drawn();
    if variable("DSHKIT_UPDATE").is_some() {
        fs::write(place, drawn).unwrap();
        return;
    }
    let lies = fs::read_to_string(place).unwrap();
    assert!(lies == drawn, "docs/recording.svg is not current; `DSHKIT_UPDATE=1 cargo test recording` draws it");
    assert!(drawn.len() < 40_000 && !drawn.contains('\u{1b}'));
}
