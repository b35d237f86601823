//! The six parts of a fold (seed §6.6, sidechat.md §2.4).

use super::language::Language;
use std::fmt;

/// The number of parts.
const PARTS: usize = 6;

/// What the parts begin with, in their order.
pub fn labels(language: Language) -> [&'static str; PARTS] {
    match language {
        Language::Chinese => {
            ["# SideChat 澄清结论：", "- 背景：", "- 结论：", "- 依据：", "- 对父会话的影响：", "- 未决："]
        }
        Language::English => [
            "# SideChat conclusion:",
            "- Background:",
            "- Conclusion:",
            "- Evidence:",
            "- Effect on the parent session:",
            "- Open:",
        ],
    }
}

/// What is wrong with the structure of a fold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructureProblem {
    /// What kind it is.
    pub kind: StructureFault,
    /// What the part in question begins with.
    pub label: &'static str,
    /// The line it is about, from 1; `None` for a part that is not there.
    pub line: Option<usize>,
}

/// What can be wrong with a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StructureFault {
    /// It is not there.
    Missing,
    /// It is there once more.
    Repeated,
    /// It stands before a part that it belongs behind.
    OutOfOrder,
    /// Its label ends with the wrong colon.
    WrongColon,
}

impl StructureFault {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            StructureFault::Missing => "missing",
            StructureFault::Repeated => "repeated",
            StructureFault::OutOfOrder => "out-of-order",
            StructureFault::WrongColon => "wrong-colon",
        }
    }
}

impl fmt::Display for StructureProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = self.label;
        let line = self.line.unwrap_or_default();
        match self.kind {
            StructureFault::Missing => write!(f, "no line begins with {label:?}"),
            StructureFault::Repeated => write!(f, "line {line} begins with {label:?} once more"),
            StructureFault::OutOfOrder => write!(f, "line {line}, {label:?}, stands before a part it belongs behind"),
            StructureFault::WrongColon => write!(f, "line {line} must begin with {label:?}, with this very colon"),
        }
    }
}

/// What is wrong with the structure of a text; nothing if all is well. Each part must begin a line of its
/// own, once, in order. Lines around and between them are free, and so is white space before a label. The
/// language is the one the text fits best, and the wanted one if it fits both as well.
pub fn problems(text: &str, wanted: Language) -> Vec<StructureProblem> {
    let other = match wanted {
        Language::Chinese => Language::English,
        Language::English => Language::Chinese,
    };
    let (here, there) = (problems_in(text, wanted), problems_in(text, other));
    if there.len() < here.len() { there } else { here }
}

fn problems_in(text: &str, language: Language) -> Vec<StructureProblem> {
    let labels = labels(language);
    let mut found: [Option<usize>; PARTS] = [None; PARTS];
    let mut problems = Vec::new();
    let mut furthest = 0;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let number = Some(index + 1);
        let Some(part) = labels.iter().position(|label| begins(line, label)) else { continue };
        let label = labels[part];
        if !line.starts_with(label) {
            problems.push(StructureProblem { kind: StructureFault::WrongColon, label, line: number });
        } else if found[part].is_some() {
            problems.push(StructureProblem { kind: StructureFault::Repeated, label, line: number });
        } else if part < furthest {
            problems.push(StructureProblem { kind: StructureFault::OutOfOrder, label, line: number });
        }
        found[part].get_or_insert(index);
        furthest = furthest.max(part);
    }
    let missing = labels.iter().zip(found).filter(|(_, found)| found.is_none());
    problems.extend(missing.map(|(label, _)| StructureProblem { kind: StructureFault::Missing, label, line: None }));
    problems
}

/// Whether a line begins with a label, be its colon the right one or not.
fn begins(line: &str, label: &str) -> bool {
    let words = label.trim_end_matches([':', '：']);
    line.strip_prefix(words).is_some_and(|rest| rest.starts_with([':', '：']))
}

/// An empty fold, to be filled in.
pub fn skeleton(language: Language) -> String {
    labels(language)
        .iter()
        .enumerate()
        .map(|(index, label)| format!("{label}\n{}", if index == 0 { "\n" } else { "" }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str =
        "# SideChat 澄清结论：重试\n\n- 背景：双写\n- 结论：幂等\n- 依据：a.rs\n- 对父会话的影响：改\n- 未决：\n";

    fn found(text: &str) -> Vec<(&'static str, &'static str)> {
        let problems = problems(text, Language::Chinese);
        problems.into_iter().map(|problem| (problem.kind.name(), problem.label)).collect()
    }

    #[test]
    fn six_parts_in_order_are_well() {
        assert_eq!(found(GOOD), []);
        assert_eq!(found(&GOOD.replace('\n', "\r\n")), []);
        assert_eq!(found(&GOOD.replace("- 结论", "Some prose between.\n   - 结论")), []);
        for language in [Language::Chinese, Language::English] {
            assert_eq!(found(&skeleton(language)), []);
        }
    }

    #[test]
    fn each_fault_is_named() {
        assert_eq!(found(&GOOD.replace("- 结论：幂等\n", "")), [("missing", "- 结论：")]);
        assert_eq!(found(&format!("{GOOD}- 未决：x\n")), [("repeated", "- 未决：")]);
        let swapped = GOOD.replace("- 背景：双写\n- 结论：幂等\n", "- 结论：幂等\n- 背景：双写\n");
        assert_eq!(found(&swapped), [("out-of-order", "- 背景：")]);
        assert_eq!(found(&GOOD.replace("- 依据：", "- 依据:")), [("wrong-colon", "- 依据：")]);
        assert_eq!(found("nothing").len(), 6);
    }

    #[test]
    fn the_language_is_that_of_most_labels() {
        let english = skeleton(Language::English).replace("- Open:\n", "");
        assert_eq!(found(&english), [("missing", "- Open:")]);
        let label = |wanted| problems("nothing", wanted)[0].label;
        assert_eq!(label(Language::English), "# SideChat conclusion:");
        assert_eq!(label(Language::Chinese), "# SideChat 澄清结论：");
    }
}
