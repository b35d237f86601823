//! What a shell may complete with where something of one side chat is meant.

use super::{A, Chats, FOLD, KINDS_TO_TRY};
use crate::completion::offered;

#[test]
fn what_belongs_to_the_named_side_chat_is_offered() {
    let chats = Chats::new(KINDS_TO_TRY[2]);
    let child = chats.create(&[]);
    chats.go_on(&child, |talk| {
        talk.exchange(("q1", "Is it safe?"), ("r1", "Yes.\nReally."));
    });
    let first = chats.fold(&child, FOLD);
    chats.commit(&first, &[]).success();
    let second = chats.fold(&child, FOLD);
    chats.commit(&second, &[]).success();
    let third = chats.fold(&child, FOLD);
    let before = chats.everything();
    let offered = |words: &[&str]| offered(&chats.sandbox, &[&["sidechat"], words].concat());
    let title = "澄清：Which key?";
    assert_eq!(offered(&["commit", ""]), [format!("{third}\trev-3 of {title}")]);
    let mut committed = [format!("{first}\trev-1 of {title}"), format!("{second}\trev-2 of {title}")];
    committed.sort();
    let mut withdrawable = offered(&["withdraw", ""]);
    withdrawable.sort();
    assert_eq!(withdrawable, committed);
    let revisions = ["3\tprepared", "2\tcurrent", "1\tsuperseded"];
    assert_eq!(offered(&["compare", &child, ""]), revisions);
    assert_eq!(offered(&["compare", &child, "1", "2"]), revisions[1..2]);
    assert_eq!(offered(&["fold", &child, "--base", ""]), revisions);
    assert_eq!(offered(&["read", &child, ""]), ["r1\tYes.", "q1\tIs it safe?"]);
    assert_eq!(offered(&["read", &child, "r1", "q"]), ["q1\tIs it safe?"]);
    assert_eq!(offered(&["read", &child, "r1", "--as", ""]), [A]);
    assert_eq!(chats.everything(), before);
    chats.run(&["withdraw", &second, "--reason", "Wrong."]).success();
    assert_eq!(
        offered(&["withdraw", ""]),
        committed.iter().filter(|line| line.starts_with(&first)).cloned().collect::<Vec<_>>()
    );
}
