//! What each shell wants for completion: a script that it reads once, and the form in which candidates go to it.
//!
//! The shells hand over words as they were typed. What a word means is found here, and a candidate is put back
//! into the quotes that were begun, so that any id arrives as one word.

use super::completion::Candidate;
use std::fmt::Write;

/// A shell that can be completed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shell {
    /// bash, from 3.2 on.
    Bash,
    /// zsh.
    Zsh,
    /// fish, from 3.0 on.
    Fish,
    /// PowerShell, on any system.
    Pwsh,
}

const BASH: &str = r#"_dshkit() {
    local IFS=$' \t\n' line
    COMPREPLY=()
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(
        COMPLETE=bash _DSHKIT_WORD="$2" _DSHKIT_LIST="$COMP_TYPE" \
            "${COMP_WORDS[0]}" -- "${COMP_LINE:0:$COMP_POINT}" 2>/dev/null
    )
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[/=] ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o nosort -F _dshkit dshkit 2>/dev/null || complete -F _dshkit dshkit
"#;

const ZSH: &str = r#"_dshkit() {
    local -a values shown open_values open_shown
    local value description
    while IFS=$'\t' read -r value description; do
        if [[ $value == */ ]]; then
            open_values+=("$value") open_shown+=("$value")
        else
            values+=("$value") shown+=("$value${description:+  -- $description}")
        fi
    done < <(COMPLETE=zsh _DSHKIT_WORD="$QIPREFIX$PREFIX" "${(Q)words[1]}" -- "${(@)words[1,CURRENT-1]}" 2>/dev/null)
    (( $#values )) && compadd -V dshkit -l -d shown -a values
    (( $#open_values )) && compadd -V dshkit -S '' -d open_shown -a open_values
    (( $#values + $#open_values ))
}
compdef _dshkit dshkit
"#;

const FISH: &str = r#"function __dshkit_complete
    set -l words (commandline -opc)
    set -lx COMPLETE fish
    set -lx _DSHKIT_WORD (commandline -ct)
    $words[1] -- $words 2>/dev/null
end
complete --keep-order --no-files --command dshkit --arguments '(__dshkit_complete)'
"#;

const POWER_SHELL: &str = r#"Register-ArgumentCompleter -Native -CommandName dshkit -ScriptBlock {
    param($word, $ast, $position)
    $words = @($ast.CommandElements | Where-Object { $_.Extent.EndOffset -lt $position } |
        ForEach-Object { if ($null -ne $_.Value) { "$($_.Value)" } else { $_.Extent.Text } })
    $env:COMPLETE = 'powershell'
    $env:_DSHKIT_WORD = "$word"
    try {
        & $words[0] -- @words 2>$null | ForEach-Object {
            $value, $description = $_.Split("`t", 2)
            if (-not $description) { $description = $value }
            [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $description)
        }
    } finally {
        Remove-Item Env:\COMPLETE, Env:\_DSHKIT_WORD -ErrorAction SilentlyContinue
    }
}
"#;

/// A word of a command line that is being typed.
#[derive(Debug, Default, PartialEq, Eq)]
struct Word {
    /// What it means so far.
    meaning: String,
    /// The quote that is open at its end.
    open: Option<char>,
}

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The words, the last one being typed.
    pub words: Vec<String>,
    /// How much of the last word's meaning the shell keeps as it is, in bytes, and the quote that is open there.
    kept: (usize, Option<char>),
}

impl Shell {
    /// The shell of a name, or of a program's path.
    pub(super) fn named(name: &str) -> Option<Shell> {
        match name.rsplit(['/', '\\']).next().unwrap_or(name).trim_end_matches(".exe") {
            "bash" => Some(Shell::Bash),
            "zsh" => Some(Shell::Zsh),
            "fish" => Some(Shell::Fish),
            "powershell" | "pwsh" => Some(Shell::Pwsh),
            _ => None,
        }
    }

    /// What the shell reads once.
    pub(super) fn script(self) -> &'static str {
        match self {
            Shell::Bash => BASH,
            Shell::Zsh => ZSH,
            Shell::Fish => FISH,
            Shell::Pwsh => POWER_SHELL,
        }
    }

    /// What its script asks for: what came behind `--`, and the word that is being typed as the shell has it.
    pub(super) fn request(self, given: &[String], typed: &str) -> Request {
        if self == Shell::Bash {
            // bash hands over the line up to the cursor, because its words end at colons too.
            let line = given.first().map_or("", String::as_str);
            let mut words = split(line);
            let last = words.pop().unwrap_or_default();
            let kept = split(line.strip_suffix(typed).unwrap_or(line)).pop().unwrap_or_default();
            let mut words: Vec<String> = words.into_iter().map(|word| word.meaning).collect();
            let kept = if last.meaning.starts_with(&kept.meaning) { kept } else { Word::default() };
            words.push(last.meaning);
            return Request { words, kept: (kept.meaning.len(), kept.open) };
        }
        let meaning = |typed: &String| match self {
            Shell::Zsh => split(typed).pop().unwrap_or_default().meaning,
            _ => typed.clone(),
        };
        let mut words: Vec<String> = given.iter().map(meaning).collect();
        words.push(if self == Shell::Pwsh {
            typed.trim_start_matches(['\'', '"']).to_owned()
        } else {
            split(typed).pop().unwrap_or_default().meaning
        });
        Request { words, kept: (0, None) }
    }

    /// The candidates as the shell wants them, one a line. Where it lists and does not insert, bash gets the
    /// descriptions too.
    pub(super) fn answer(self, request: &Request, candidates: &[Candidate], lists: bool) -> String {
        let mut out = String::new();
        for Candidate { value, description } in candidates {
            let line = match self {
                Shell::Bash => {
                    let (kept, open) = request.kept;
                    let Some(rest) = value.get(kept..) else { continue };
                    let quoted = bash_quoted(rest, open);
                    match description {
                        Some(description) if lists && candidates.len() > 1 => format!("{quoted}  ({description})"),
                        _ => quoted,
                    }
                }
                Shell::Zsh | Shell::Fish => described(value, description.as_deref()),
                Shell::Pwsh => described(&power_shell_quoted(value), description.as_deref()),
            };
            let _ = writeln!(out, "{line}");
        }
        out
    }
}

fn described(value: &str, description: Option<&str>) -> String {
    description.map_or_else(|| value.to_owned(), |description| format!("{value}\t{description}"))
}

/// The words of a line in a shell's grammar. The last is the one being typed, empty behind a space.
fn split(line: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut word = Word::default();
    let mut is_begun = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match (word.open, c) {
            (None, ' ' | '\t' | '\n') => {
                if std::mem::take(&mut is_begun) {
                    words.push(std::mem::take(&mut word));
                }
                continue;
            }
            (None, '\'' | '"') => word.open = Some(c),
            (Some(quote), c) if quote == c => word.open = None,
            (None, '\\') => word.meaning.extend(characters.next()),
            // Between double quotes a backslash says something only before these.
            (Some('"'), '\\') if matches!(characters.peek(), Some('"' | '\\' | '$' | '`')) => {
                word.meaning.extend(characters.next());
            }
            (_, c) => word.meaning.push(c),
        }
        is_begun = true;
    }
    words.push(word);
    words
}

/// Text as bash takes it at the end of a word, inside the quote that is open there.
fn bash_quoted(text: &str, open: Option<char>) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match open {
            Some('\'') if c == '\'' => out.push_str(r"'\''"),
            Some('"') if matches!(c, '"' | '\\' | '$' | '`') => out.extend(['\\', c]),
            None if c.is_ascii() && !c.is_ascii_alphanumeric() && !"-_./=+@%,^".contains(c) => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    // bash closes the quote itself, unless it takes the last character for the end.
    out.extend(open.filter(|quote| out.ends_with(*quote)));
    out
}

/// Text as PowerShell takes it: between quotes where it is no plain word.
fn power_shell_quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:\\".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(line: &str) -> Vec<String> {
        split(line).into_iter().map(|word| word.meaning).collect()
    }

    fn candidate(value: &str) -> Candidate {
        Candidate { value: value.to_owned(), description: Some("a title".to_owned()) }
    }

    #[test]
    fn words_mean_what_a_shell_takes_them_for() {
        assert_eq!(words(r#"a b\ c 'd e' "f \"g\" \h" "#), ["a", "b c", "d e", r#"f "g" \h"#, ""]);
        assert_eq!(words("a 'b c"), ["a", "b c"]);
        assert_eq!(split("a 'b").pop(), Some(Word { meaning: "b".to_owned(), open: Some('\'') }));
        assert_eq!(words(""), [""]);
        assert_eq!(words("''"), [""]);
    }

    #[test]
    fn bash_gets_what_comes_behind_its_last_break() {
        let request = Shell::Bash.request(&[r"dshkit show a\ b:c".to_owned()], "c");
        assert_eq!(request.words, ["dshkit", "show", "a b:c"]);
        assert_eq!(Shell::Bash.answer(&request, &[candidate("a b:c'd e")], false), "c\\'d\\ e\n");
        let request = Shell::Bash.request(&["dshkit show 'a b".to_owned()], "a b");
        assert_eq!(Shell::Bash.answer(&request, &[candidate("a b'c")], false), "a b'\\''c\n");
        let request = Shell::Bash.request(&["dshkit show ".to_owned()], "");
        assert_eq!(
            Shell::Bash.answer(&request, &[candidate("a"), candidate("b")], true),
            "a  (a title)\nb  (a title)\n"
        );
    }

    #[test]
    fn shells_are_known_by_name_and_path() {
        assert_eq!(Shell::named("/usr/bin/zsh"), Some(Shell::Zsh));
        assert_eq!(Shell::named("pwsh.exe"), Some(Shell::Pwsh));
        assert_eq!(Shell::named("tcsh"), None);
    }

    proptest! {
        #[test]
        fn what_bash_gets_is_one_word_that_means_the_value(value in "[ -~äß名😀]{0,20}") {
            for open in [None, Some('\''), Some('"')] {
                let line = format!("{}{}", open.map_or_else(String::new, String::from), bash_quoted(&value, open));
                let found = split(&line);
                prop_assert_eq!(found.len(), 1);
                prop_assert_eq!(&found[0].meaning, &value);
            }
        }
    }
}
