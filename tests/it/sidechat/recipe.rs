//! The recipe of the README, run to the letter with a model behind a loopback address.

use super::ask::answer;
use super::loop_by_model::{Model, said};
use super::{A, Chats, FOLD, PLAIN};
use crate::logs::read;
use std::path::Path;
use std::process::Command;

const README: &str = include_str!("../../../README.md");

/// The commands below a heading.
fn recipe(heading: &str) -> &'static str {
    let (_, section) = README.split_once(&format!("\n#### {heading}\n")).expect("the README has the recipe");
    let (_, block) = section.split_once("```sh\n").expect("it has commands");
    block.split_once("```").expect("they have an end").0
}

#[test]
fn a_layered_memory_in_one_session() {
    let chats = Chats::new(PLAIN);
    chats.stand_still();
    // Answers both questions, then folds what was said and points to the first message it is offered.
    let mut replies = vec![answer(&["A new one ", "each day."]), answer(&["With one per request."])];
    let model = Model::with(3, move |request| match replies.pop() {
        Some(reply) => reply,
        None => {
            let pointers: Vec<&str> = request.split("sidechat://").skip(1).collect();
            let pointer = pointers.last().unwrap().split('\\').next().unwrap();
            said(&FOLD.replace("a.rs", &format!("[原话](sidechat://{pointer})")))
        }
    });
    let program = Path::new(env!("CARGO_BIN_EXE_dshkit")).parent().unwrap().display();
    let output = Command::new("/bin/sh")
        .args(["-eu", "-c", recipe("A layered memory in one session")])
        .env_clear()
        .env("PATH", format!("{program}:/usr/bin:/bin"))
        .env("HOME", chats.sandbox.path("user"))
        .env("DSH_HOME", chats.sandbox.home())
        .env("A", A)
        .env("MODEL", &model.url)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}\n{}", String::from_utf8_lossy(&output.stderr));
    // The first layer is one message of A, which was not woken, and holds the second.
    let written = chats.written();
    let [(_, fold)] = &written[..] else { panic!("{written:?}") };
    assert!(fold.starts_with("[SideChat fold id=") && fold.contains("](sidechat://session-"), "{fold}");
    let (events, _) = read(&chats.sandbox.sessions(), A);
    assert_eq!(events.iter().filter(|event| event["type"] == "turn/start").count(), 2);
    // The third is the whole reply, marked as background.
    let recalled = printed.split_once("[SideChat recall source=session-").expect("something was recalled").1;
    assert!(recalled.contains("A new one each day."), "{printed}");
    // Two turns, each exactly known.
    assert!(printed.contains("side chat     344 in, 256 from a cache, 100 out, 700 in all"), "{printed}");
    let asked = model.asked();
    assert!(asked[0].contains("Which key would be safe?") && asked[1].contains("And if it expires?"));
}
