//! `uri`: filters over session identifiers.

use crate::support::Sandbox;
use serde_json::json;

/// `session-plain`, as dsh writes it.
const PLAIN: &str = "dsh-session:InNlc3Npb24tcGxhaW4i";

#[test]
fn identifiers_come_from_arguments_or_from_lines() {
    let sandbox = Sandbox::new();
    let two = format!("{PLAIN}\ndsh-session:ImEi\n");
    assert_eq!(sandbox.run(&["uri", "encode", "session-plain", "a"]).success().text(), two);
    for arguments in [&["uri", "encode"][..], &["uri", "encode", "-"]] {
        assert_eq!(sandbox.run_with_input(arguments, b"session-plain\na\n").success().text(), two);
        assert_eq!(sandbox.run_with_input(arguments, b"session-plain\na").success().text(), two);
    }
    assert_eq!(sandbox.run_with_input(&["uri", "decode"], two.as_bytes()).success().text(), "session-plain\na\n");
    assert_eq!(sandbox.run_with_input(&["uri", "encode"], b"").success().text(), "");
}

#[test]
fn options_may_follow_an_item() {
    let sandbox = Sandbox::new();
    let document = sandbox.run(&["uri", "encode", "a", "--json"]).success().json();
    assert_eq!(
        document,
        json!({"schema": "dshkit/uri.encode/1", "uris": [{"sessionId": "a", "uri": "dsh-session:ImEi"}]})
    );
    let document = sandbox.run(&["uri", "decode", PLAIN, "--json"]).success().json();
    let sessions = json!([{"uri": PLAIN, "sessionId": "session-plain"}]);
    assert_eq!(document, json!({"schema": "dshkit/uri.decode/1", "sessions": sessions}));
    let records = sandbox.run(&["uri", "encode", "a", "session-plain", "--jsonl"]).success().records();
    assert_eq!(records[1], json!({"sessionId": "session-plain", "uri": PLAIN}));
    assert_eq!(records.len(), 2);
}

#[test]
fn ids_may_begin_with_a_dash_after_two() {
    let sandbox = Sandbox::new();
    let uri = "dsh-session:Ii0tanNvbiI\n";
    assert_eq!(sandbox.run(&["uri", "encode", "--", "--json"]).success().text(), uri);
    assert_eq!(sandbox.run_with_input(&["uri", "encode"], b"--json\n").success().text(), uri);
    sandbox.run(&["uri", "encode", "--no-such-option"]).exits(2);
}

#[test]
fn items_may_end_with_nul() {
    let sandbox = Sandbox::new();
    let encoded = sandbox.run_with_input(&["uri", "encode", "-0"], b"a\nb\0c\0").success();
    // The text between the quotes is a, an escaped line feed, b.
    assert_eq!(encoded.text(), "dsh-session:ImFcbmIi\0dsh-session:ImMi\0");
    let decoded = sandbox.run_with_input(&["uri", "decode", "-0"], encoded.text().as_bytes()).success();
    assert_eq!(decoded.text(), "a\nb\0c\0");
}

#[test]
fn an_id_that_no_line_can_hold_is_not_printed_as_one() {
    let sandbox = Sandbox::new();
    let error = sandbox.run(&["uri", "decode", "dsh-session:ImFcbmIi", "--format", "text"]).exits(2);
    assert!(error.stdout.is_empty() && error.stderr.contains("--json-strings"), "{error}");
    // A lone surrogate.
    let surrogate = "dsh-session:Ilx1ZDgzZCI";
    assert!(sandbox.run(&["uri", "decode", surrogate]).exits(2).stdout.is_empty());
    assert_eq!(sandbox.run(&["uri", "decode", surrogate, "--json-strings"]).success().text(), "\"\\ud83d\"\n");
    let back = sandbox.run_with_input(&["uri", "encode", "--json-strings"], b"\"\\uD83D\"\n").success();
    assert_eq!(back.text(), format!("{surrogate}\n"));
}

#[test]
fn one_bad_item_spoils_all() {
    let sandbox = Sandbox::new();
    sandbox.run(&["uri", "decode", "--json", PLAIN, "dsh-session:!"]).fails(2, "SESSION_REFERENCE_INVALID_REFERENCE");
    sandbox.run(&["uri", "decode", "--json", "session-plain"]).fails(2, "SESSION_REFERENCE_INVALID_REFERENCE");
    for text in ["session-plain", "7", "\"a", ""] {
        sandbox.run(&["uri", "encode", "--json", "--json-strings", text]).fails(2, "usage");
    }
    assert!(sandbox.run_with_input(&["uri", "encode"], b"\xff\n").exits(2).stdout.is_empty());
}

#[test]
fn mentions_escape_their_label_and_are_found_again() {
    let sandbox = Sandbox::new();
    let mention = sandbox.run(&["uri", "mention", "session-plain", "--label", r"a]b\c"]).success();
    assert_eq!(mention.text(), format!("@[a\\]b\\\\c]({PLAIN})\n"));
    let parsed = sandbox.run(&["uri", "parse", "--json", mention.text()]).success().json();
    assert_eq!(parsed["references"], json!([{"sessionId": "session-plain", "label": r"a]b\c", "uri": PLAIN}]));
    assert_eq!(parsed["text"], "@a]b\\c\n");
    let plain = sandbox.run(&["uri", "mention", "session-plain"]).success();
    assert_eq!(plain.text(), format!("@[session-plain]({PLAIN})\n"));
}

#[test]
fn a_text_without_mentions_has_none() {
    let sandbox = Sandbox::new();
    for text in ["", "nothing here", "an empty dsh-session: is prose", "dsh-session:…", "@[a](https://example.org)"] {
        let parsed = sandbox.run(&["uri", "parse", "--json", text]).success().json();
        assert_eq!(parsed, json!({"schema": "dshkit/uri.parse/1", "text": text, "references": []}));
    }
}

#[test]
fn parsed_text_comes_before_its_identifiers() {
    let sandbox = Sandbox::new();
    let text = format!("see {PLAIN}.");
    let parsed = sandbox.run_with_input(&["uri", "parse"], text.as_bytes()).success();
    assert_eq!(parsed.text(), format!("see @session-plain.\n{PLAIN}\n"));
}
