//! Damaged logs and odd stores, against what dsh of the same generation does with them.

use crate::support::{Differences, corpora_with, read_json, run_in_store};
use serde_json::{Value, json};
use std::path::Path;

/// The session that every variant spoils.
const SESSION: &str = "session-0a1b2c3d-0001-4000-8000-000000000001";

#[test]
fn a_log_loads_exactly_where_dsh_loads_it() {
    let mut differences = Differences::default();
    let folders: Vec<_> = corpora_with("expected.json")
        .into_iter()
        .filter(|folder| folder.file_name().unwrap().to_string_lossy().contains("damaged"))
        .collect();
    for folder in &folders {
        let variants = read_json(&folder.join("expected.json"));
        for (variant, expected) in variants.as_object().unwrap() {
            compare(&mut differences, folder, variant, expected);
        }
    }
    differences.none_of_at_least(folders.len() * 2 * 40);
}

fn compare(differences: &mut Differences, folder: &Path, variant: &str, expected: &Value) {
    let set = folder.file_name().unwrap().to_string_lossy();
    let place = format!("{set}/{variant} ({})", expected["note"].as_str().unwrap());
    // Beside a v5 log dsh 0.1.0 reads the v0 log, because it knows no others; we do not fall back to an
    // older log than the newest.
    if set == "8-damaged" && variant.starts_with("l10-") {
        return;
    }
    let outcome = run_in_store(&folder.join(variant).join("sessions"), &["sessions", "check", "--json"]);
    let document = outcome.json();
    let dsh_lists = json!(expected["list"].is_array());
    differences.compare(format!("{place}: dshLists"), document.get("dshLists"), Some(&dsh_lists));
    // A store of two encodings, or with a log of the oldest layout, dsh refuses whole; we read what is
    // good in it.
    if variant.starts_with("l01-") || variant.starts_with("l03-") {
        return;
    }
    let checked = document["sessions"].as_array().unwrap();
    let of_session: Vec<&Value> = checked.iter().filter(|session| session["sessionId"] == SESSION).collect();
    let loads = of_session.iter().any(|session| session["verdict"] == "ok" || session["verdict"] == "recoverable");
    let inspect = &expected["inspect"];
    differences.compare(format!("{place}: loads"), json!(loads), &inspect["ok"]);
    if loads && inspect["ok"] == true {
        let stored: Vec<&Value> = of_session.iter().map(|session| &session["storedEvents"]).collect();
        differences.compare(format!("{place}: stored"), stored, vec![&inspect["storedEventCount"]]);
        // Later versions of dsh counted the stored events twice here, because they close turns elsewhere.
        if set != "8-damaged" {
            return;
        }
        let logical: Vec<&Value> = of_session.iter().map(|session| &session["logicalEvents"]).collect();
        differences.compare(format!("{place}: logical"), logical, vec![&inspect["eventCount"]]);
    }
}
