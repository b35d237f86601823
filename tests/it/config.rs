//! The configuration file: what it may hold, what beats it, how what is wrong in it is told. And the manners of
//! the environment: colour, width.

use crate::support::{Outcome, Sandbox, outcome, turn, write_log};
use serde_json::{Value, json};
use std::fs;

/// A home with a session, and a configuration file with this text.
fn sandbox(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let header = json!({"type": "session", "version": 0, "id": "s1", "createdAt": 1, "delegationDepth": 0});
    write_log(&sandbox, "_no-cwd", &header, &turn("asks", "answers"));
    fs::create_dir_all(sandbox.path("config/dshkit")).unwrap();
    fs::write(sandbox.path("config/dshkit/config.toml"), text).unwrap();
    sandbox
}

/// Runs the program with these variables set, or removed.
fn run_with(sandbox: &Sandbox, variables: &[(&str, Option<&str>)], arguments: &[&str]) -> Outcome {
    let mut command = sandbox.command();
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args(arguments);
    outcome(command, b"")
}

/// The value of a key and where it comes from.
fn setting(outcome: &Outcome, key: &str) -> (Value, Value) {
    let document = outcome.json();
    let values = document["values"].as_array().unwrap();
    let setting = values.iter().find(|setting| setting["key"] == key).unwrap();
    (setting["value"].clone(), setting["source"].clone())
}

#[test]
fn flags_beat_the_environment_and_that_beats_the_file() {
    let sandbox = sandbox("home = \"/from/file\"\nformat = \"jsonl\"\n");
    let show = ["config", "show", "--json"];
    let without = [("DSH_HOME", None)];
    let home = |outcome: Outcome| setting(&outcome.success(), "home");
    assert_eq!(home(run_with(&sandbox, &without, &show)), (json!("/from/file"), json!("file")));
    let blank = [("DSH_HOME", Some(" "))];
    assert_eq!(home(run_with(&sandbox, &blank, &show)), (json!("/from/file"), json!("file")));
    assert_eq!(home(sandbox.run(&show)), (json!(sandbox.home()), json!("environment")));
    let flag = [&show[..], &["--home", "/from/flag"]].concat();
    assert_eq!(home(sandbox.run(&flag)), (json!("/from/flag"), json!("flag")));
    assert_eq!(setting(&sandbox.run(&show).success(), "format"), (json!("json"), json!("flag")));
    fs::remove_file(sandbox.path("config/dshkit/config.toml")).unwrap();
    let user = json!(sandbox.path("user/.dsh"));
    assert_eq!(home(run_with(&sandbox, &without, &show)), (user, json!("default")));
}

#[test]
fn the_file_chooses_home_format_and_index() {
    let sandbox = sandbox("home = \"~/elsewhere\"\nformat = \"text\"\nindex = true\n");
    crate::support::copy_tree(&sandbox.home(), &sandbox.path("user/elsewhere"));
    fs::remove_dir_all(sandbox.sessions()).unwrap();
    let without = [("DSH_HOME", None)];
    let list = run_with(&sandbox, &without, &["sessions", "list"]).success();
    assert!(list.text().starts_with(" SESSION"), "{list}");
    let json = run_with(&sandbox, &without, &["sessions", "list", "--json"]).success().json();
    assert_eq!(json["sessions"][0]["sessionId"], "s1");
    // The index is made where it is wanted, and only there.
    let index = || run_with(&sandbox, &without, &["index", "status", "--json"]).success().json()["exists"].clone();
    run_with(&sandbox, &without, &["sessions", "search", "answers", "--no-index"]).success();
    assert_eq!(index(), false);
    run_with(&sandbox, &without, &["sessions", "search", "answers"]).success();
    assert_eq!(index(), true);
    // A filter stays one.
    fs::write(sandbox.path("config/dshkit/config.toml"), "format = \"json\"").unwrap();
    assert_eq!(sandbox.run(&["uri", "encode", "a"]).success().text(), "dsh-session:ImEi\n");
}

#[test]
fn the_model_is_shown_and_no_key() {
    let text = "[model]\nendpoint = \"http://localhost:1/v1\"\nname = \"m\"\nkey-env = \"SECRET\"\ncommand = [\"a\", \"b c\"]\n";
    let sandbox = sandbox(text);
    let show = run_with(&sandbox, &[("SECRET", Some("s3cr3t"))], &["config", "show", "--json"]).success();
    assert_eq!(setting(&show, "model.endpoint"), (json!("http://localhost:1/v1"), json!("file")));
    assert_eq!(setting(&show, "model.name"), (json!("m"), json!("file")));
    assert_eq!(setting(&show, "model.key-env"), (json!("SECRET"), json!("file")));
    assert_eq!(setting(&show, "model.command"), (json!(["a", "b c"]), json!("file")));
    assert_eq!(setting(&show, "index"), (json!(false), json!("default")));
    assert!(!show.text().contains("s3cr3t"));
    let text = sandbox.run(&["config", "show", "--format", "text"]).success();
    assert!(text.text().contains(" model.name      m"), "{text}");
}

#[test]
fn what_is_wrong_is_told_with_line_and_column() {
    let sandbox = sandbox("format = \"json\"\n\n  hoem = \"/x\"\n");
    let path = sandbox.path("config/dshkit/config.toml").display().to_string();
    for command in
        [&["sessions", "list", "--json"][..], &["uri", "encode", "a", "--json"], &["config", "show", "--json"]]
    {
        let error = sandbox.run(command).fails(2, "invalid-config");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(&format!("{path}:3:3: unknown field `hoem`")), "{message}");
    }
    // These help to repair it.
    assert_eq!(sandbox.run(&["config", "path"]).success().text(), format!("{path}\n"));
    assert!(sandbox.run(&["help", "config"]).success().text().contains("key-env"));
    for (text, place) in
        [("index = 1", "1:9"), ("[model]\nkey = \"a\"", "2:1"), ("format = \"xml\"", "1:10"), ("a = ", "1:")]
    {
        fs::write(&path, text).unwrap();
        let error = sandbox.run(&["sessions", "list", "--json"]).fails(2, "invalid-config");
        assert!(error["message"].as_str().unwrap().starts_with(&format!("{path}:{place}")), "{error}");
    }
    fs::write(&path, b"home = \"\xff\"").unwrap();
    let error = sandbox.run(&["sessions", "list", "--json"]).fails(2, "invalid-config");
    assert!(error["message"].as_str().unwrap().ends_with(":1:9: the file is not UTF-8"), "{error}");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    sandbox.run(&["sessions", "list", "--json"]).fails(8, "io");
}

#[test]
fn the_place_of_the_file_follows_xdg() {
    let sandbox = sandbox("");
    let path = |variables: &[(&str, Option<&str>)]| {
        run_with(&sandbox, variables, &["config", "path"]).success().text().trim_end().to_owned()
    };
    assert_eq!(path(&[]), sandbox.path("config/dshkit/config.toml").display().to_string());
    let below_home = sandbox.path("user/.config/dshkit/config.toml").display().to_string();
    assert_eq!(path(&[("XDG_CONFIG_HOME", None)]), below_home);
    assert_eq!(path(&[("XDG_CONFIG_HOME", Some("not/absolute"))]), below_home);
    let document = sandbox.run(&["config", "path", "--json"]).success().json();
    assert_eq!(document["exists"], true);
}

#[test]
fn colour_is_where_it_is_wanted() {
    let sandbox = sandbox("");
    let list = ["sessions", "list", "--format", "text"];
    let has_colour = |variables: &[(&str, Option<&str>)], more: &[&str]| {
        let list = run_with(&sandbox, variables, &[&list, more].concat()).success();
        list.text().contains('\u{1b}')
    };
    assert!(!has_colour(&[], &[]), "no terminal, no colour");
    assert!(has_colour(&[("CLICOLOR_FORCE", Some("1"))], &[]));
    assert!(!has_colour(&[("CLICOLOR_FORCE", Some("0"))], &[]));
    assert!(!has_colour(&[("CLICOLOR_FORCE", Some("1")), ("NO_COLOR", Some("1"))], &[]), "who forbids wins");
    assert!(has_colour(&[("CLICOLOR_FORCE", Some("1")), ("NO_COLOR", Some(""))], &[]), "empty is not set");
    assert!(has_colour(&[("NO_COLOR", Some("1"))], &["--color", "always"]), "a flag beats the environment");
    assert!(!has_colour(&[("CLICOLOR_FORCE", Some("1"))], &["--color", "never"]));
}

#[test]
fn a_width_that_is_none_is_not_used() {
    let sandbox = sandbox("");
    let whole = sandbox.run(&["sessions", "list", "--format", "text"]).success();
    for odd in ["x", "-1", ""] {
        let list = run_with(&sandbox, &[("COLUMNS", Some(odd))], &["sessions", "list", "--format", "text"]).success();
        assert_eq!(list.text(), whole.text());
    }
    run_with(&sandbox, &[("COLUMNS", Some("0"))], &["sessions", "list", "--format", "text"]).success();
}
