//! Writing JSON exactly as `JSON.stringify` does.

use super::value::{Value, in_javascript_order};
use super::view::{Kind, View};
use crate::model::js_string::{CodePoint, JsStr};
use std::fmt::Write;

/// Appends a tree.
pub fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number_literal(*number)),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Object(object) => {
            out.push('{');
            for (index, (key, value)) in object.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_value(value, out);
            }
            out.push('}');
        }
    }
}

/// Appends what `JSON.stringify(JSON.parse(text))` gives for the text of a view.
pub fn write_view(view: View<'_>, out: &mut String) {
    match view.kind() {
        Kind::Null | Kind::Bool => out.push_str(view.text()),
        Kind::Number => out.push_str(&number_literal(view.number().unwrap_or(f64::NAN))),
        Kind::String => write_string(&view.string().unwrap_or_default(), out),
        Kind::Array => {
            out.push('[');
            for (index, item) in view.elements().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_view(item, out);
            }
            out.push(']');
        }
        Kind::Object => {
            let members = in_javascript_order(view.members().collect());
            out.push('{');
            for (index, (key, value)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_view(*value, out);
            }
            out.push('}');
        }
    }
}

/// Appends a string literal: the two-letter escapes where JSON has them, `\u00xx` for other controls,
/// `\udxxx` for an unpaired surrogate, and everything else as it is.
pub fn write_string(text: &JsStr<'_>, out: &mut String) {
    out.push('"');
    match text.to_str() {
        Some(text) => write_escaped(text, out),
        None => {
            for point in text.code_points() {
                match point {
                    CodePoint::Char(c) => write_escaped(c.encode_utf8(&mut [0; 4]), out),
                    CodePoint::LoneSurrogate(unit) => {
                        let _ = write!(out, "\\u{unit:04x}");
                    }
                }
            }
        }
    }
    out.push('"');
}

fn write_escaped(text: &str, out: &mut String) {
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[plain..at]);
        plain = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x0C => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => {
                let _ = write!(out, "\\u{byte:04x}");
            }
        }
    }
    out.push_str(&text[plain..]);
}

/// A string as a JSON literal.
pub fn string_literal(text: &JsStr<'_>) -> String {
    let mut out = String::with_capacity(text.len_utf8() + 2);
    write_string(text, &mut out);
    out
}

/// A number as JavaScript prints it in JSON: `-0` is `0`, what is not finite is `null`.
pub fn number_literal(number: f64) -> String {
    if !number.is_finite() {
        return "null".to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    ryu_js::Buffer::new().format_finite(number).to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn check(text: &str, expected: &str) {
        let view = parse(text).unwrap();
        let mut out = String::new();
        write_view(view, &mut out);
        assert_eq!(out, expected);
        let mut tree = String::new();
        write_value(&view.to_value(), &mut tree);
        assert_eq!(tree, expected, "the tree and the view agree");
    }

    #[test]
    fn prints_what_json_stringify_prints() {
        check(r#" { "a" : 1.0 , "b":[ ] } "#, r#"{"a":1,"b":[]}"#);
        check(r#"[1e21,1e-7,123456789012345680000,-0,0.1,1E400]"#, r#"[1e+21,1e-7,123456789012345680000,0,0.1,null]"#);
        check(r#""\u0041\/\u001f\u007f\b\ud83d\ude00\ud83d""#, "\"A/\\u001f\u{7f}\\b😀\\ud83d\"");
        check(r#"{"x":1,"2":2,"x":3,"1":4}"#, r#"{"1":4,"2":2,"x":3}"#);
    }
}
