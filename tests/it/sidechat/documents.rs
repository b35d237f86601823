//! The shape of every document of side chats, to the last member.

use super::{A, Chats, FOLD, PLAIN};
use crate::documents::{mirror, present, read};
use crate::logs::Kind;
use dshkit::stores::Encoding;
use serde::Deserialize;

mirror! {
    Create { schema: String, chat: Chat, #[serde(deserialize_with = "present")] resume: Option<Open>,
        #[serde(deserialize_with = "present")] message: Option<String>,
        not_enforced: Vec<String>, dry_run: Option<bool>, }
    Open { session_id: String, uri: String, #[serde(deserialize_with = "present")] cwd: Option<String>, command: String, }
    Chat {
        child_session_id: String,
        parent_session_id: String,
        #[serde(deserialize_with = "present")] cwd: Option<String>,
        question: String,
        title: String,
        status: String,
        seed: Seed,
        permission: Permission,
        model: Model,
        created_at: i64,
        last_activity_at: i64,
        reserved_revision: u64,
        hidden: bool,
        origin: String,
    }
    Listed {
        child_session_id: String,
        parent_session_id: String,
        #[serde(deserialize_with = "present")] cwd: Option<String>,
        question: String,
        title: String,
        status: String,
        seed: Seed,
        permission: Permission,
        model: Model,
        created_at: i64,
        last_activity_at: i64,
        reserved_revision: u64,
        hidden: bool,
        origin: String,
        parent: String,
        child: String,
        #[serde(deserialize_with = "present")] running: Option<bool>,
        #[serde(deserialize_with = "present")] current_model: Option<Route>,
        #[serde(deserialize_with = "present")] latest_fold_revision: Option<u64>,
        committed_folds: u64,
        pending: u64,
    }
    Seed {
        mode: String,
        #[serde(deserialize_with = "present")] captured_through_seq: Option<u64>,
        #[serde(deserialize_with = "present")] captured_format: Option<u64>,
        captured_at: i64,
        messages: Vec<SeedMessage>,
        #[serde(deserialize_with = "present")] generated: Option<Generated>,
    }
    SeedMessage { message_id: String, role: String, seq: u64,
        #[serde(deserialize_with = "present")] turn: Option<u64>,
        #[serde(deserialize_with = "present")] selection: Option<Selection>, text: String, }
    Selection { start: u64, end: u64, }
    Preview { schema: String, parent_session_id: String, title: String, seed: SeedPreview,
        #[serde(deserialize_with = "present")] message: Option<MessagePreview>, calls: Vec<CallPreview>, }
    SeedPreview { mode: String, messages: Vec<SeedMessage>, dropped_older_messages: u64, characters: u64,
        estimated_tokens: u64, script_aware_tokens: u64, }
    MessagePreview { text: String, characters: u64, estimated_tokens: u64, script_aware_tokens: u64, }
    CallPreview { purpose: String, #[serde(deserialize_with = "present")] route: Option<Route>, instructions: String,
        input: String, characters: u64, estimated_tokens: u64, script_aware_tokens: u64, max_tokens: u64, }
    Ask { schema: String, child_session_id: String, parent_session_id: String,
        #[serde(deserialize_with = "present")] turn: Option<Turn>, #[serde(deserialize_with = "present")] kept: Option<bool>,
        context: Option<AskContext>, dry_run: Option<bool>, }
    Turn {
        #[serde(deserialize_with = "present")] turn: Option<u64>,
        #[serde(deserialize_with = "present")] first_seq: Option<u64>,
        #[serde(deserialize_with = "present")] last_seq: Option<u64>,
        #[serde(deserialize_with = "present")] prompt_message_id: Option<String>,
        #[serde(deserialize_with = "present")] message_id: Option<String>,
        text: String,
        reason: String,
        #[serde(deserialize_with = "present")] error: Option<Fault>,
        route: Route,
        #[serde(deserialize_with = "present")] usage: Option<CallUsage>,
    }
    Fault { message: String, code: String, #[serde(deserialize_with = "present")] status: Option<u16>, }
    AskContext { messages: Vec<SentLine>, characters: u64, estimated_tokens: u64, script_aware_tokens: u64,
        #[serde(deserialize_with = "present")] route: Option<Route>, }
    SentLine { role: String, text: String, }
    Generated { text: String, call: Call, dropped_older_messages: u64, }
    Call { #[serde(deserialize_with = "present")] route: Option<Route>,
        #[serde(deserialize_with = "present")] usage: Option<CallUsage>, at: i64, }
    CallUsage {
        input_tokens: u64,
        output_tokens: u64,
        #[serde(deserialize_with = "present")] total_tokens: Option<u64>,
        #[serde(deserialize_with = "present")] cache_read_tokens: Option<u64>,
        #[serde(deserialize_with = "present")] reasoning_tokens: Option<u64>,
    }
    Permission {
        mode: String,
        #[serde(deserialize_with = "present")] parent_sandbox_mode: Option<String>,
        #[serde(deserialize_with = "present")] parent_approval_policy: Option<String>,
        #[serde(deserialize_with = "present")] child_sandbox_mode: Option<String>,
        #[serde(deserialize_with = "present")] child_approval_policy: Option<String>,
    }
    Model { #[serde(deserialize_with = "present")] strategy: Option<String>, #[serde(deserialize_with = "present")] route: Option<Route>, }
    Route { provider: String, model: String, }
    FoldDocument { schema: String, fold: Fold, existed: bool, pointer_error: Option<serde_json::Value>, dry_run: Option<bool>, }
    Commit { schema: String, fold: Fold, delivery: Delivery,
        #[serde(deserialize_with = "present")] message: Option<Notice>, dry_run: Option<bool>, }
    Fold {
        #[serde(deserialize_with = "present")] fold_id: Option<String>,
        child_session_id: String,
        parent_session_id: String,
        #[serde(deserialize_with = "present")] revision: Option<u64>,
        state: String,
        mode: String,
        #[serde(deserialize_with = "present")] base_revision: Option<u64>,
        #[serde(deserialize_with = "present")] standing: Option<String>,
        #[serde(deserialize_with = "present")] text: Option<String>,
        #[serde(deserialize_with = "present")] estimated_tokens: Option<u64>,
        #[serde(deserialize_with = "present")] script_aware_tokens: Option<u64>,
        max_tokens: u64,
        #[serde(deserialize_with = "present")] structure: Option<Structure>,
        pointers: Vec<Pointer>,
        #[serde(deserialize_with = "present")] through_seq: Option<u64>,
        #[serde(deserialize_with = "present")] supersedes_revision: Option<u64>,
        #[serde(deserialize_with = "present")] parent_event_seq: Option<u64>,
        #[serde(deserialize_with = "present")] parent_format: Option<u64>,
        #[serde(deserialize_with = "present")] reason: Option<String>,
        calls: Vec<Call>,
        #[serde(deserialize_with = "present")] created_at: Option<i64>,
        #[serde(deserialize_with = "present")] updated_at: Option<i64>,
        #[serde(deserialize_with = "present")] committed_at: Option<i64>,
    }
    Pointer { label: String, uri: String, message_id: String, }
    Structure { valid: bool, problems: Vec<Problem>, }
    Problem { kind: String, label: String, #[serde(deserialize_with = "present")] line: Option<u64>, message: String, }
    Delivery { state: String, reason: Option<String>, message: Option<String>, advice: Option<String>, }
    Notice { marker: String, summary: String, text: String, }
    CiteDocument { schema: String, cite: Cite, delivery: Delivery,
        #[serde(deserialize_with = "present")] message: Option<Notice>, dry_run: Option<bool>, }
    Cite {
        cite_id: String,
        child_session_id: String,
        parent_session_id: String,
        #[serde(deserialize_with = "present")] target_session_id: Option<String>,
        cross_parent: bool,
        source: Source,
        #[serde(deserialize_with = "present")] source_time: Option<i64>,
        text: String,
        estimated_tokens: u64,
        script_aware_tokens: u64,
        max_tokens: u64,
        state: String,
        #[serde(deserialize_with = "present")] parent_event_seq: Option<u64>,
        #[serde(deserialize_with = "present")] parent_format: Option<u64>,
        #[serde(deserialize_with = "present")] reason: Option<String>,
        created_at: i64,
        updated_at: i64,
        #[serde(deserialize_with = "present")] committed_at: Option<i64>,
    }
    Deliver { schema: String, deliveries: Vec<Delivered>, dry_run: Option<bool>, }
    Delivered {
        kind: String,
        id: String,
        child_session_id: String, target_session_id: Option<String>,
        #[serde(deserialize_with = "present")] revision: Option<u64>,
        state: String,
        #[serde(deserialize_with = "present")] parent_event_seq: Option<u64>,
        reason: Option<String>,
        error: Option<serde_json::Value>,
    }
    List { schema: String, chats: Vec<Listed>, problems: Vec<DomainProblem>, }
    DomainProblem { code: String, path: String, #[serde(deserialize_with = "present")] table: Option<String>,
        #[serde(deserialize_with = "present")] key: Option<String>,
        #[serde(deserialize_with = "present")] field: Option<String>, message: String, }
    Show { schema: String, chat: Listed, folds: Vec<Fold>, cites: Vec<Cite>,
        withdrawals: Vec<Withdrawal>, relinks: Vec<Relink>,
        #[serde(deserialize_with = "present")] replies: Option<Vec<Reply>>,
        #[serde(deserialize_with = "present")] resume: Option<Open>, }
    Reply { message_id: String, time: i64, text: String, }
    Withdrawal {
        fold_id: String,
        child_session_id: String,
        revision: u64,
        reason: String,
        state: String,
        #[serde(deserialize_with = "present")] parent_event_seq: Option<u64>,
        #[serde(deserialize_with = "present")] parent_format: Option<u64>,
        #[serde(deserialize_with = "present")] obstacle: Option<String>,
        created_at: i64,
        updated_at: i64,
        #[serde(deserialize_with = "present")] committed_at: Option<i64>,
    }
    Relink { from_session_id: String, from_created_at: u64, to_session_id: String, to_created_at: u64, at: i64, }
    Withdraw { schema: String, fold: Fold, withdrawal: Withdrawal,
        #[serde(deserialize_with = "present")] current_revision: Option<u64>, delivery: Delivery,
        #[serde(deserialize_with = "present")] message: Option<Notice>, dry_run: Option<bool>, }
    Compare { schema: String, child_session_id: String, origin: String, from: Revision, to: Revision, identical: bool, lines: Vec<Line>, }
    Revision {
        fold_id: String,
        revision: u64,
        state: String,
        mode: String,
        #[serde(deserialize_with = "present")] base_revision: Option<u64>,
        #[serde(deserialize_with = "present")] standing: Option<String>,
        #[serde(deserialize_with = "present")] caveat: Option<String>,
    }
    Line { change: String, text: String, }
    Read { schema: String, child_session_id: String, origin: String, messages: Vec<Message>, text: String, }
    Message { message_id: String, role: String, seq: u64, time: i64, text: String, }
    Tool { schema: String, name: String, description: String, parameters: serde_json::Value, }
    Tree { schema: String, nodes: Vec<Node>, problems: Vec<DomainProblem>, }
    Node {
        root_session_id: String,
        depth: u64,
        child_session_id: String,
        parent_session_id: String,
        #[serde(deserialize_with = "present")] cwd: Option<String>,
        question: String,
        title: String,
        status: String,
        seed: Seed,
        permission: Permission,
        model: Model,
        created_at: i64,
        last_activity_at: i64,
        reserved_revision: u64,
        hidden: bool,
        origin: String,
        parent: String,
        child: String,
        #[serde(deserialize_with = "present")] running: Option<bool>,
        #[serde(deserialize_with = "present")] current_model: Option<Route>,
        #[serde(deserialize_with = "present")] latest_fold_revision: Option<u64>,
        committed_folds: u64,
        pending: u64,
    }
    Cites { schema: String, child_session_id: String, origin: String, cites: Vec<Citation>, }
    Citation {
        cite_id: String,
        child_session_id: String,
        parent_session_id: String,
        #[serde(deserialize_with = "present")] target_session_id: Option<String>,
        cross_parent: bool,
        source: Source,
        #[serde(deserialize_with = "present")] source_time: Option<i64>,
        text: String,
        estimated_tokens: u64,
        script_aware_tokens: u64,
        max_tokens: u64,
        state: String,
        #[serde(deserialize_with = "present")] parent_event_seq: Option<u64>,
        #[serde(deserialize_with = "present")] parent_format: Option<u64>,
        #[serde(deserialize_with = "present")] reason: Option<String>,
        created_at: i64,
        updated_at: i64,
        #[serde(deserialize_with = "present")] committed_at: Option<i64>,
        #[serde(deserialize_with = "present")] target: Option<String>,
    }
    RelinkDocument { schema: String, chat: Chat, relink: Relink, dry_run: Option<bool>, }
    Doctor {
        schema: String,
        ledger: DomainFile,
        plugin: DomainFile,
        findings: Vec<Finding>,
        restored: Option<Restored>,
        dry_run: Option<bool>,
    }
    DomainFile { path: String, present: bool, }
    Finding {
        kind: String,
        gravity: String,
        #[serde(deserialize_with = "present")] child_session_id: Option<String>,
        #[serde(deserialize_with = "present")] table: Option<String>,
        #[serde(deserialize_with = "present")] key: Option<String>,
        #[serde(deserialize_with = "present")] field: Option<String>,
        message: String,
        #[serde(deserialize_with = "present")] advice: Option<String>,
    }
    Restored { chats: u64, folds: u64, cites: u64, withdrawals: u64, }
    Resume {
        schema: String,
        session_id: String,
        uri: String,
        #[serde(deserialize_with = "present")] cwd: Option<String>,
        command: String,
        #[serde(deserialize_with = "present")] path: Option<String>,
        title: String,
        status: String,
    }
    Prompt { schema: String, instructions: String, input: String, max_tokens: u64, text: String, }
    Status { schema: String, chat: Chat, dry_run: Option<bool>, }
    Usage {
        schema: String,
        child_session_id: String, origin: String,
        parent_session_id: String,
        #[serde(deserialize_with = "present")] child: Option<ChildUsage>,
        parent_delta: Delta,
        seed_call: Option<Call>,
        fold_calls: Vec<FoldCalls>,
        deliveries: Deliveries,
    }
    ChildUsage {
        complete: bool,
        completed_turns: u64,
        incomplete_turns: u64,
        #[serde(deserialize_with = "present")] totals: Option<Tokens>,
        #[serde(deserialize_with = "present")] latest_turn: Option<Tokens>,
    }
    Tokens {
        uncached_input_tokens: u64,
        output_tokens: u64,
        total_tokens: u64,
        #[serde(deserialize_with = "present")] cache_read_tokens: Option<u64>,
        #[serde(deserialize_with = "present")] cache_write_tokens: Option<u64>,
        #[serde(deserialize_with = "present")] reasoning_tokens: Option<u64>,
        routes: Vec<Route>,
    }
    Delta { available: bool, #[serde(deserialize_with = "present")] tokens: Option<Tokens>, }
    FoldCalls { revision: u64, calls: Vec<Call>, }
    Deliveries { messages: u64, model_calls: u64, }
}

/// What a cite quotes.
#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "what matters is that it can be read")]
enum Source {
    Message {
        message_id: String,
        #[serde(deserialize_with = "present")]
        seq: Option<u64>,
        #[serde(deserialize_with = "present")]
        format: Option<u64>,
        #[serde(deserialize_with = "present")]
        range: Option<[u64; 2]>,
    },
    Fold {
        fold_id: String,
        revision: u64,
    },
}

#[test]
fn every_document_of_side_chats() {
    for kind in [PLAIN, Kind { version: 4, encoding: Encoding::Zstd }] {
        let chats = Chats::new(kind);
        let base = ["create", "--parent", A, "--question", "q"];
        let create = |more: &[&str]| chats.run(&[&base, more].concat()).success();
        let trial: Create = read(&create(&["--dry-run"]));
        assert!(trial.resume.is_none() && trial.dry_run == Some(true));
        let made: Create = read(&create(&["--seed", "task", "--model-command", "echo x"]));
        assert!(made.chat.seed.generated.is_some() && made.schema == "dshkit/sidechat.create/1");
        let preview: Preview = read(&create(&["--preview", "--seed", "selection:a1:0-4"]));
        assert!(preview.message.is_some() && preview.seed.messages[0].selection.is_some());
        let preview: Preview = read(&create(&["--preview", "--seed", "task"]));
        assert_eq!((preview.message.is_none(), preview.calls.len()), (true, 1));
        let child = made.chat.child_session_id;
        let trial: Ask = read(&chats.run(&["ask", &child, "--dry-run"]).success());
        assert!(trial.turn.is_none() && trial.kept.is_none() && trial.context.is_some());
        let asked: Ask = read(&chats.run(&["ask", &child, "--model-command", "echo x"]).success());
        assert_eq!((asked.turn.unwrap().turn, asked.kept, asked.context.is_none()), (Some(2), Some(true), true));
        chats.go_on(&child, |talk| {
            talk.exchange(("q1", "One?"), ("r1", "Two."));
        });
        let _: Prompt = read(&chats.run(&["fold", &child, "--prompt", "--json"]).success());
        let file = chats.file("bad.md", "nothing");
        let prepared: FoldDocument = read(&chats.run(&["fold", &child, "--text", &file]).success());
        assert_eq!(prepared.fold.structure.unwrap().problems.len(), 6);
        let _: FoldDocument = read(&chats.run(&["fold", &child, "--text", &file, "--dry-run"]).success());
        let good = format!("cat '{}'", chats.file("good.md", FOLD));
        let written: FoldDocument =
            read(&chats.run(&["fold", &child, "--generate", "--model-command", &good]).success());
        let fold = written.fold.fold_id.unwrap();
        let _: Commit = read(&chats.run(&["commit", &fold, "--dry-run"]).success());
        let committed: Commit = read(&chats.run(&["commit", &fold]).success());
        assert_eq!(committed.message.is_some(), kind.version == 0);
        let _: Deliver = read(&chats.run(&["deliver", "--dry-run"]).success());
        let delivered: Deliver = read(&chats.run(&["deliver", "--offline"]).success());
        assert_eq!(delivered.deliveries.len(), usize::from(kind.version == 0));
        let _: CiteDocument = read(&chats.cite(&child, &["r1", "--range", "0-3", "--dry-run"]).success());
        let _: CiteDocument = read(&chats.cite(&child, &["r1"]).success());
        let _: CiteDocument = read(&chats.cite(&child, &["--fold", "2"]).success());
        let list: List = read(&chats.run(&["list", "--parent", A]).success());
        let catalog: List = read(&chats.run(&["catalog"]).success());
        assert_eq!((list.chats.len(), catalog.chats.len()), (1, 1));
        let show: Show = read(&chats.run(&["show", &child]).success());
        assert_eq!((show.folds.len(), show.cites.len(), show.replies.unwrap().len()), (2, 2, 2));
        let tree: Tree = read(&chats.run(&["tree", A]).success());
        assert_eq!(tree.nodes.len(), 1);
        let compare: Compare = read(&chats.run(&["compare", &child, "1", "2"]).success());
        assert!(!compare.identical && compare.from.caveat.is_some());
        let recalled: Read = read(&chats.run(&["read", &child, "r1", "--as", A]).success());
        assert_eq!(recalled.messages.len(), 1);
        let _: Tool = read(&chats.run(&["read", "--tool-schema", "--json"]).success());
        let cites: Cites = read(&chats.run(&["cites", &child]).success());
        assert_eq!(cites.cites.len(), 2);
        let _: Status = read(&chats.run(&["hide", &child, "--dry-run"]).success());
        let _: Status = read(&chats.run(&["hide", &child]).success());
        let _: Status = read(&chats.run(&["unhide", &child]).success());
        chats.stand_still();
        let mut words = vec!["withdraw", &fold, "--reason", "It was wrong."];
        words.extend(chats.word());
        let _: Withdraw = read(&chats.run(&[&words[..], &["--dry-run"]].concat()).success());
        let withdrawn: Withdraw = read(&chats.run(&words).success());
        assert_eq!((withdrawn.current_revision, withdrawn.message.is_none()), (None, true));
        let doctor: Doctor = read(&chats.run(&["doctor"]).success());
        assert!(doctor.findings.is_empty(), "{doctor:?}");
        let _: Doctor = read(&chats.run(&["doctor", "--rebuild"]).success());
        let _: Resume = read(&chats.run(&["resume", &child]).success());
        let _: Usage = read(&chats.run(&["usage", &child]).success());
        let _: Status = read(&chats.run(&["archive", &child, "--dry-run"]).success());
        let _: Status = read(&chats.run(&["abandon", &child]).success());
    }
}
