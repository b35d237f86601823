//! How the events of a v4 log hang together, which dsh 0.2.1 checks whenever it loads one.
//!
//! Turns and steps open and close in order; a tool's result answers a call that was made and started; a
//! compaction names exactly what it shadows; a title cites messages of the person. Some of it can be
//! known only later in the log, so a little is kept until then.

use super::admission::canonical_count;
use crate::generations::shapes::{is_block, is_kind, non_empty_string};
use crate::model::closers::NOT_STARTED;
use crate::model::event::{Event, SurfaceOp, is_surface_type};
use crate::model::header::Header;
use crate::model::js_string::{JsStr, JsString};
use crate::model::json::{Value, View, write_view};
use std::collections::{HashMap, HashSet};

type Check = Result<(), String>;

fn refuse(message: impl Into<String>) -> Check {
    Err(message.into())
}

/// A call the model made that has no result yet.
struct PendingTool {
    name: Option<JsString>,
    arguments: Option<JsString>,
    started: bool,
}

struct Dispatch {
    root: JsString,
    parent: JsString,
    name: Option<Value>,
    arguments: Option<Value>,
    settled: bool,
}

struct Compaction {
    id: JsString,
    command: Option<Value>,
    turn: Option<u64>,
    summarized: bool,
    /// Whether a turn began or ended while it was open: wrong, unless it turns out to be an orphan.
    crossed: bool,
}

/// A tool that a request header defines.
struct ToolDefinition {
    name: JsString,
    is_complete: bool,
}

/// What is known of a log so far.
pub(super) struct Relations {
    session_id: JsString,
    has_parent: bool,
    turn: Option<u64>,
    step: Option<u64>,
    next_turn: u64,
    next_step: u64,
    provider: Option<Value>,
    surface: Vec<u64>,
    head: Option<u64>,
    compaction: Option<Compaction>,
    tools: Vec<(JsString, PendingTool)>,
    dispatches: HashMap<JsString, Dispatch>,
    /// The last scheduled retry of each policy chain: its number and id.
    retry_chains: HashMap<String, (u64, JsString)>,
    retry_ids: HashSet<JsString>,
    scheduled: HashMap<(JsString, u64), String>,
    started_retries: HashSet<(JsString, u64)>,
    commands: HashSet<JsString>,
    command_events: HashSet<u64>,
    human_messages: HashSet<u64>,
    headers: HashMap<u64, Vec<ToolDefinition>>,
    /// The last upload marker of this generation that names another session.
    foreign_delivery: Option<u64>,
    catalog: Vec<(u64, Option<JsString>)>,
}

impl Relations {
    pub(super) fn new(header: &Header) -> Relations {
        Relations {
            session_id: header.id.clone(),
            has_parent: header.parent_session.is_some(),
            turn: None,
            step: None,
            next_turn: 1,
            next_step: 1,
            provider: None,
            surface: Vec::new(),
            head: None,
            compaction: None,
            tools: Vec::new(),
            dispatches: HashMap::new(),
            retry_chains: HashMap::new(),
            retry_ids: HashSet::new(),
            scheduled: HashMap::new(),
            started_retries: HashSet::new(),
            commands: HashSet::new(),
            command_events: HashSet::new(),
            human_messages: HashSet::new(),
            headers: HashMap::new(),
            foreign_delivery: None,
            catalog: Vec::new(),
        }
    }

    /// Takes one event of a known type in.
    pub(super) fn accept(&mut self, event: &Event<'_>) -> Check {
        let data = event.data();
        self.check_sources(event, data)?;
        let Some(kind) = event.kind.to_str() else { return Ok(()) };
        match kind {
            "session-log-deepseek/delivery-accepted" => return self.delivery(event, data),
            "subagent/catalog" => {
                self.catalog.push((event.seq, catalog_child(data)));
                return Ok(());
            }
            _ if !is_related(kind) => return Ok(()),
            _ if !data.is_object() => return refuse("its data is not an object"),
            "system/message" | "developer/message" | "assistant/attempt" => self.require_step(data)?,
            "turn/start" | "turn/end" => {
                if let Some(compaction) = &mut self.compaction {
                    compaction.crossed = true;
                }
            }
            _ => {}
        }
        self.fold_surface(event)?;
        self.by_type(kind, event, data)
    }

    fn by_type(&mut self, kind: &str, event: &Event<'_>, data: View<'_>) -> Check {
        match kind {
            "turn/start" => {
                if self.turn.is_some() || !is_number(data.get("turn"), Some(self.next_turn)) {
                    return refuse("it does not open the next turn");
                }
                self.turn = Some(self.next_turn);
                self.next_step = 1;
                self.tools.clear();
            }
            "turn/end" => {
                if self.turn.is_none() || !is_number(data.get("turn"), self.turn) || self.step.is_some() {
                    return refuse("it does not end the open turn, or a step is still open");
                }
                self.close_tools()?;
                self.turn = None;
                self.next_turn += 1;
            }
            "step/start" => {
                let opens = self.turn.is_some() && is_number(data.get("turn"), self.turn) && self.step.is_none();
                if !opens || !is_number(data.get("step"), Some(self.next_step)) {
                    return refuse("it does not open the next step of the open turn");
                }
                self.step = Some(self.next_step);
            }
            "step/end" => {
                self.require_step(data)?;
                self.close_tools()?;
                self.step = None;
                self.next_step += 1;
            }
            "assistant/message" => self.advertise(data)?,
            "tool/call" => self.start_tool(data)?,
            "tool/result" => self.settle_tool(event, data)?,
            "developer/message" => self.developer(event, data)?,
            "request/header" => self.request_header(event, data)?,
            "request/context" => self.require_turn()?,
            "tool/ptc-dispatch-start" | "tool/ptc-dispatch" => self.dispatch(kind, data)?,
            "llm/retry" => self.schedule_retry(data)?,
            "llm/retry-started" => self.start_retry(data)?,
            "session/title" | "session/title-llm-request" => self.title(kind, event, data)?,
            "command/run" | "command/done" => self.command(kind, event, data)?,
            "compaction/start" | "compaction/summary" | "compaction/end" | "compaction/prune" => {
                self.compact(kind, event, data)?
            }
            "user/message" => {
                let source =
                    data.get("source").filter(|source| source.is_object()).ok_or("its message has no source")?;
                if is_kind(source, "user") {
                    self.human_messages.insert(event.seq);
                }
                if event.surface_op != Some(SurfaceOp::Append) && is_kind(source, "compact-checkpoint") {
                    self.compaction_owner(source)?;
                }
            }
            "session/end-seed" => self.compaction = None,
            _ => {}
        }
        Ok(())
    }

    /// Ends the log.
    pub(super) fn finish(&mut self, inherited_events: u64) -> Check {
        if self.compaction.as_ref().is_some_and(|compaction| compaction.crossed) {
            return refuse("a turn crosses an open compaction");
        }
        if self.foreign_delivery.is_some_and(|seq| !self.has_parent || seq >= inherited_events) {
            return refuse("an upload marker of this generation names another session");
        }
        let mut children = HashSet::new();
        for (_, child) in self.catalog.iter().filter(|(seq, _)| *seq >= inherited_events) {
            let child = child.as_ref().ok_or("a malformed entry of the subagent catalog")?;
            if !children.insert(child) {
                return refuse("the subagent catalog names a child twice");
            }
        }
        Ok(())
    }

    /// Every message names its producer.
    fn check_sources(&self, event: &Event<'_>, data: View<'_>) -> Check {
        let check = |message: View<'_>| {
            let source = message
                .get("source")
                .filter(|source| non_empty_string(source.get("kind")) && !is_kind(*source, "plugin"));
            source.map(|_| ()).ok_or_else(|| "a message does not name its producer".to_owned())
        };
        if !data.is_object() {
            return Ok(());
        }
        let list = match event.kind.to_str() {
            Some("user/message") => return check(data),
            Some("developer/message" | "system/message" | "assistant/message" | "tool/result") => {
                return check(data.get("message").ok_or("it has no message")?);
            }
            Some("agent/inbox/spliced") => "inserted",
            Some("session/title-llm-request") => "messages",
            _ => return Ok(()),
        };
        data.get(list).and_then(View::array).ok_or("it has no list of messages")?.try_for_each(check)
    }

    fn require_turn(&self) -> Check {
        if self.turn.is_some() { Ok(()) } else { refuse("it stands outside a turn") }
    }

    fn require_step(&self, data: View<'_>) -> Check {
        let is_open = self.turn.is_some() && self.step.is_some();
        if is_open && is_number(data.get("turn"), self.turn) && is_number(data.get("step"), self.step) {
            Ok(())
        } else {
            refuse("it does not stand in the open turn and step it names")
        }
    }

    fn close_tools(&mut self) -> Check {
        match self.tools.first() {
            None => Ok(()),
            Some((id, _)) => refuse(format!("the tool call {id:?} has no result")),
        }
    }

    fn fold_surface(&mut self, event: &Event<'_>) -> Check {
        if !is_surface_type(&event.kind) {
            return Ok(());
        }
        let is_system = event.is("system/message");
        if is_system && !self.surface.is_empty() && self.head.is_none() {
            return refuse("a system message joins a surface that does not begin with one");
        }
        match event.surface_op {
            None => refuse("its surfaceOp is not valid"),
            Some(SurfaceOp::Append) => {
                if is_system && self.surface.is_empty() {
                    self.head = Some(event.seq);
                }
                self.surface.push(event.seq);
                Ok(())
            }
            Some(SurfaceOp::Replace { start, end }) => {
                let (first, last) = self.span(start, end).ok_or("it replaces what is not on the surface")?;
                let removed = &self.surface[first..=last];
                let sources: HashSet<u64> = event.source_event_seqs.iter().flatten().copied().collect();
                if removed.iter().any(|seq| !sources.contains(seq)) {
                    return refuse("its sourceEventSeqs leave out what it replaces");
                }
                if self.head.is_some_and(|head| removed.contains(&head)) {
                    if !is_system || removed.len() != 1 {
                        return refuse("it replaces the system head, which only a system message may");
                    }
                    self.head = Some(event.seq);
                }
                self.surface.splice(first..=last, [event.seq]);
                Ok(())
            }
        }
    }

    fn span(&self, start: u64, end: u64) -> Option<(usize, usize)> {
        let position = |seq| self.surface.iter().rposition(|node| *node == seq);
        let (first, last) = (position(start)?, position(end)?);
        (first <= last).then_some((first, last))
    }

    fn advertise(&mut self, data: View<'_>) -> Check {
        self.require_step(data)?;
        let content = data.get("message").and_then(|message| message.get("content")).and_then(View::array);
        for block in content.ok_or("its message has no content list")? {
            if !block.is_object() {
                return refuse("a content block is not an object");
            }
            if !is_block(block, "tool-call") {
                continue;
            }
            let id = word(block.get("id"))?;
            if self.tools.iter().any(|(held, _)| *held == id) {
                return refuse(format!("it makes the tool call {id:?} twice"));
            }
            let string = |key| block.get(key).and_then(View::string).map(JsStr::into_owned);
            let tool = PendingTool { name: string("name"), arguments: string("arguments"), started: false };
            self.tools.push((id, tool));
        }
        Ok(())
    }

    fn start_tool(&mut self, data: View<'_>) -> Check {
        self.require_step(data)?;
        let id = word(data.get("callId"))?;
        let string = |key| data.get(key).and_then(View::string).map(JsStr::into_owned);
        match self.tools.iter_mut().find(|(held, _)| *held == id) {
            Some((_, tool))
                if !tool.started && tool.name == string("name") && tool.arguments == string("arguments") =>
            {
                tool.started = true;
                Ok(())
            }
            _ => refuse(format!("the model did not make the tool call {id:?} so")),
        }
    }

    fn settle_tool(&mut self, event: &Event<'_>, data: View<'_>) -> Check {
        if event.surface_op != Some(SurfaceOp::Append) {
            return self.require_turn();
        }
        self.require_step(data)?;
        let message = data.get("message").ok_or("it has no message")?;
        let id = word(message.get("toolCallId"))?;
        let Some(at) = self.tools.iter().position(|(held, _)| *held == id) else {
            return refuse(format!("it answers the tool call {id:?}, which nobody made"));
        };
        if !self.tools[at].1.started && !is_not_started_repair(event, data, message, &id) {
            return refuse(format!("it answers the tool call {id:?}, which never started"));
        }
        self.tools.remove(at);
        Ok(())
    }

    fn developer(&self, event: &Event<'_>, data: View<'_>) -> Check {
        let Some(header_seq) = data.get("headerSeq") else { return Ok(()) };
        let header_seq = earlier(Some(header_seq), event.seq)?;
        let tools = self.headers.get(&header_seq).ok_or("it names an event that is no request header")?;
        let content = data.get("message").and_then(|message| message.get("content"));
        for block in content.into_iter().flat_map(View::elements).filter(|block| is_block(*block, "tool-addition")) {
            let name = block.get("toolName").and_then(View::string);
            let mut defined = tools.iter().filter(|tool| Some(&tool.name) == name.as_ref());
            match (defined.next(), defined.next()) {
                (Some(tool), None) if tool.is_complete => {}
                _ => return refuse("it adds a tool that its request header does not define once and completely"),
            }
        }
        Ok(())
    }

    fn request_header(&mut self, event: &Event<'_>, data: View<'_>) -> Check {
        self.require_turn()?;
        let header = data.get("header").ok_or("it has no header")?;
        let config = header.get("config").filter(|config| config.is_object()).ok_or("it has no config")?;
        self.provider = config.get("provider").map(View::to_value);
        let tools = header.get("tools").into_iter().flat_map(View::elements).filter_map(|tool| {
            let is_complete = tool.get("description").is_some_and(|text| text.string().is_some())
                && tool.get("parameters").is_some_and(View::is_object);
            Some(ToolDefinition { name: tool.get("name")?.string()?.into_owned(), is_complete })
        });
        self.headers.insert(event.seq, tools.collect());
        Ok(())
    }

    fn dispatch(&mut self, kind: &str, data: View<'_>) -> Check {
        self.require_turn()?;
        let (id, root, parent) =
            (word(data.get("subCallId"))?, word(data.get("rootCallId"))?, word(data.get("parentCallId"))?);
        let has_root = |dispatch: &Dispatch| dispatch.root == root;
        if self.dispatches.get(&id).is_some_and(|existing| !has_root(existing)) {
            return refuse("a dispatched call changes its root");
        }
        if parent != root && !self.dispatches.get(&parent).is_some_and(has_root) {
            return refuse("a dispatched call has a parent of another root");
        }
        let (name, arguments) = (data.get("name").map(View::to_value), data.get("arguments").map(View::to_value));
        if kind == "tool/ptc-dispatch-start" {
            if self.dispatches.contains_key(&id) {
                return refuse("a dispatched call starts twice");
            }
            self.dispatches.insert(id, Dispatch { root, parent, name, arguments, settled: false });
            return Ok(());
        }
        match self.dispatches.get_mut(&id) {
            Some(start)
                if !start.settled && start.parent == parent && start.name == name && start.arguments == arguments =>
            {
                start.settled = true;
                Ok(())
            }
            _ => refuse("a dispatched call ends that did not start so"),
        }
    }

    fn schedule_retry(&mut self, data: View<'_>) -> Check {
        let id = word(data.get("retryId"))?;
        let retry = data.get("retry").and_then(View::count).ok_or("its retry is not a count")?;
        let step = self.step.unwrap_or(self.next_step - 1);
        if self.turn.is_none() || !is_number(data.get("turn"), self.turn) || !is_number(data.get("step"), Some(step)) {
            return refuse("it does not stand in the turn and step it names");
        }
        if data.get("provider").map(View::to_value) != self.provider {
            return refuse("it names another provider than the request header");
        }
        let chain = texts(data, &["turn", "step", "provider", "policyKey"]);
        let fits = match self.retry_chains.get(&chain) {
            None => retry == 1 && !self.retry_ids.contains(&id),
            Some((last, held)) => retry == last + 1 && *held == id,
        };
        if !fits {
            return refuse("it does not continue the retries of its policy");
        }
        self.retry_chains.insert(chain, (retry, id.clone()));
        self.retry_ids.insert(id.clone());
        self.scheduled.entry((id, retry)).or_insert_with(|| texts(data, &["turn", "step"]));
        Ok(())
    }

    fn start_retry(&mut self, data: View<'_>) -> Check {
        let id = word(data.get("retryId"))?;
        let retry = data.get("retry").and_then(View::count).ok_or("its retry is not a count")?;
        if self.scheduled.get(&(id.clone(), retry)) != Some(&texts(data, &["turn", "step"])) {
            return refuse("it starts a retry that was not scheduled so");
        }
        if self.started_retries.insert((id, retry)) { Ok(()) } else { refuse("it starts a retry twice") }
    }

    fn title(&self, kind: &str, event: &Event<'_>, data: View<'_>) -> Check {
        let references =
            data.get("messageSeqs").filter(|seqs| seqs.array().is_some()).ok_or("it has no messageSeqs")?;
        let is_empty = references.elements().next().is_none();
        if kind == "session/title" {
            let source = data.get("source").filter(|source| source.is_object()).ok_or("it has no source")?;
            if is_empty != is_kind(source, "user") {
                return refuse("a title cites messages exactly when the person did not choose it");
            }
        }
        let mut seen = HashSet::new();
        for reference in references.elements() {
            let seq = earlier(Some(reference), event.seq)?;
            if !seen.insert(seq) || !self.human_messages.contains(&seq) {
                return refuse("it cites something else than messages of the person, each once");
            }
        }
        if kind == "session/title" {
            return Ok(());
        }
        let mut messages = data.get("messages").into_iter().flat_map(View::elements);
        let (Some(message), None, false) = (messages.next(), messages.next(), is_empty) else {
            return refuse("a request for a title holds one message");
        };
        let mut content = message.get("content").into_iter().flat_map(View::elements);
        let is_one_text = matches!((content.next(), content.next()), (Some(block), None) if is_block(block, "text"));
        let is_from_titles = message.get("source").is_some_and(|source| is_kind(source, "dsh-session-title-llm"));
        if is_one_text && is_from_titles && message.get("role").is_some_and(|role| role.is_string("user")) {
            Ok(())
        } else {
            refuse("a request for a title does not hold what a title is made from")
        }
    }

    fn command(&mut self, kind: &str, event: &Event<'_>, data: View<'_>) -> Check {
        let id = word(data.get("commandId"))?;
        self.command_events.insert(event.seq);
        if kind == "command/run" {
            return if self.commands.insert(id) { Ok(()) } else { refuse("a command runs twice") };
        }
        if !self.commands.contains(&id) {
            return refuse("a command ends that did not run");
        }
        let Some(source) = data.get("sourceEventSeq") else { return Ok(()) };
        let source = earlier(Some(source), event.seq)?;
        let is_success = data.get("kind").is_some_and(|kind| kind.is_string("success"));
        if is_success && !self.command_events.contains(&source) {
            Ok(())
        } else {
            refuse("a command's end cites the wrong event")
        }
    }

    fn compact(&mut self, kind: &str, event: &Event<'_>, data: View<'_>) -> Check {
        if kind == "compaction/prune" || kind == "compaction/summary" {
            self.check_shadowed_span(event, data)?;
        }
        match kind {
            "compaction/prune" => Ok(()),
            "compaction/start" => {
                if self.compaction.is_some() {
                    return refuse("a compaction starts while one is open");
                }
                let turn = data.get("turn").ok_or("it names no turn")?;
                let turn =
                    if turn.text() == "null" { None } else { Some(turn.count().ok_or("its turn is not a count")?) };
                if turn != self.turn {
                    return refuse("a compaction does not belong to the open turn");
                }
                let id = word(data.get("compactionId"))?;
                let command = data.get("sourceCommandId").map(View::to_value);
                self.compaction = Some(Compaction { id, command, turn, summarized: false, crossed: false });
                Ok(())
            }
            "compaction/summary" => {
                let turn = self.turn;
                let current = self.compaction_owner(data)?;
                if current.turn != turn || current.summarized {
                    return refuse("a compaction is summarised twice, or in another turn");
                }
                current.summarized = true;
                Ok(())
            }
            _ => {
                let turn = self.turn;
                let current = self.compaction_owner(data)?;
                let same_turn = match current.turn {
                    None => data.get("turn").is_some_and(|turn| turn.text() == "null"),
                    Some(turn) => is_number(data.get("turn"), Some(turn)),
                };
                if current.turn != turn || !same_turn || current.crossed {
                    return refuse("a compaction ends in another turn than it started");
                }
                if data.get("error").is_none() && !current.summarized {
                    return refuse("a compaction succeeds without a summary");
                }
                self.compaction = None;
                Ok(())
            }
        }
    }

    fn compaction_owner(&mut self, holder: View<'_>) -> Result<&mut Compaction, String> {
        let id = holder.get("compactionId").and_then(View::string);
        let command = holder.get("sourceCommandId").map(View::to_value);
        match &mut self.compaction {
            Some(current) if Some(&current.id) == id.as_ref() && current.command == command => Ok(current),
            _ => Err("it belongs to no open compaction".to_owned()),
        }
    }

    fn check_shadowed_span(&self, event: &Event<'_>, data: View<'_>) -> Check {
        let range = data.get("shadowedRange").filter(|range| range.is_object()).ok_or("it has no shadowedRange")?;
        let (start, end) = (earlier(range.get("start"), event.seq)?, earlier(range.get("end"), event.seq)?);
        let seqs = data.get("shadowedSeqs").and_then(View::array).ok_or("it has no shadowedSeqs")?;
        let seqs: Vec<Option<u64>> = seqs.map(View::count).collect();
        let (first, last) = self.span(start, end).ok_or("its shadowedRange is not on the surface")?;
        if !seqs.iter().copied().eq(self.surface[first..=last].iter().copied().map(Some)) {
            return refuse("its shadowedSeqs are not the nodes of its shadowedRange");
        }
        if self.head.is_some_and(|head| seqs.contains(&Some(head))) {
            return refuse("it shadows the system head");
        }
        Ok(())
    }

    fn delivery(&mut self, event: &Event<'_>, data: View<'_>) -> Check {
        if !data.is_object() {
            return refuse("its data is not an object");
        }
        let version =
            data.get("sessionFormatVersion").map_or(Some(0), View::count).ok_or("its format version is not a count")?;
        if version != 4 {
            return Ok(());
        }
        earlier(data.get("throughSeq"), event.seq)?;
        let id = word(data.get("sessionId"))?;
        if id != self.session_id {
            self.foreign_delivery = Some(event.seq);
        }
        Ok(())
    }
}

/// The event types whose relations are checked.
fn is_related(kind: &str) -> bool {
    matches!(
        kind,
        "system/message"
            | "developer/message"
            | "user/message"
            | "assistant/message"
            | "assistant/attempt"
            | "tool/result"
            | "turn/start"
            | "turn/end"
            | "step/start"
            | "step/end"
            | "tool/call"
            | "request/header"
            | "request/context"
            | "tool/ptc-dispatch-start"
            | "tool/ptc-dispatch"
            | "llm/retry"
            | "llm/retry-started"
            | "session/title"
            | "session/title-llm-request"
            | "command/run"
            | "command/done"
            | "compaction/start"
            | "compaction/summary"
            | "compaction/end"
            | "compaction/prune"
            | "session/end-seed"
    )
}

/// The result made for a call that never started: by a fork, or word for word by dsh on reading.
fn is_not_started_repair(event: &Event<'_>, data: View<'_>, message: View<'_>, call_id: &JsStr<'_>) -> bool {
    let Some(error) = data.get("error") else { return false };
    let is = |key, text| error.get(key).is_some_and(|value| value.is_string(text));
    let is_marked = message.get("isError").is_some_and(View::is_true) && event.source_event_seqs.is_none();
    if !is("name", "ToolNotStartedError") || !is("code", "TOOL_NOT_STARTED") || !is_marked {
        return false;
    }
    let id = message.get("id").and_then(View::string).unwrap_or_default();
    let suffix_after = |prefix: &str| {
        let prefix = [prefix.as_bytes(), call_id.as_bytes(), b"-"].concat();
        id.as_bytes().strip_prefix(&prefix[..]).map(|suffix| String::from_utf8_lossy(suffix).into_owned())
    };
    if suffix_after("forked-tool-result-").is_some() {
        return true;
    }
    let mut content = message.get("content").into_iter().flat_map(View::elements);
    let is_text = matches!((content.next(), content.next()), (Some(block), None)
        if is_block(block, "text") && block.get("text").is_some_and(|text| text.is_string(NOT_STARTED)));
    is_text && suffix_after("interrupted-tool-result-").is_some_and(|suffix| canonical_count(&suffix).is_some())
}

/// The child an entry of the subagent catalog names, if the entry is well formed.
fn catalog_child(data: View<'_>) -> Option<JsString> {
    let version = data.get("version")?.count().filter(|version| *version <= 2)?;
    let mode = data.get("mode")?.string()?;
    let label = data.get("label");
    let fits = match mode.to_str()? {
        "external" => version == 2,
        "unknown" => version == 1,
        "continuable" => version < 2 && label.is_some(),
        "one-shot" => version < 2,
        _ => false,
    };
    if !fits || label.is_some_and(|label| label.string().is_none()) {
        return None;
    }
    data.get("childCreatedAt")?.count()?;
    Some(data.get("childId")?.string()?.into_owned())
}

fn is_number(value: Option<View<'_>>, expected: Option<u64>) -> bool {
    value.and_then(View::number).zip(expected).is_some_and(|(number, expected)| number == expected as f64)
}

fn word(value: Option<View<'_>>) -> Result<JsString, String> {
    let word = value.and_then(View::string).filter(|text| !text.is_empty());
    word.map(JsStr::into_owned).ok_or_else(|| "an id is missing or empty".to_owned())
}

fn earlier(value: Option<View<'_>>, seq: u64) -> Result<u64, String> {
    let named = value.and_then(View::count).ok_or("it names an event by something else than a seq")?;
    if named < seq { Ok(named) } else { Err("it names an event that is not earlier".to_owned()) }
}

/// Members as one canonical text, to compare several at once.
fn texts(data: View<'_>, keys: &[&str]) -> String {
    let mut out = String::new();
    for key in keys {
        if let Some(value) = data.get(key) {
            write_view(value, &mut out);
        }
        out.push('\n');
    }
    out
}
