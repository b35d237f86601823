//! The stored form of `sourceEventSeqs`: runs of three or more numbers as a pair (formats.md §3.1).

use crate::model::json::View;

/// Reads a list of numbers and pairs. `limit` is the event's own seq: no list holds more, which bounds
/// the memory a short text can ask for.
///
/// # Errors
/// Says what is wrong: not a list, a member that is neither, a range that runs backwards or beyond the
/// limit, ranges in a list that does not rise.
pub fn decode_seq_ranges(value: View<'_>, limit: u64) -> Result<Vec<u64>, &'static str> {
    let mut seqs = Vec::new();
    let mut has_range = false;
    for entry in value.array().ok_or("sourceEventSeqs is not a list")? {
        if entry.array().is_none() {
            if seqs.len() as u64 >= limit {
                return Err("sourceEventSeqs names more events than there are before it");
            }
            seqs.push(entry.count().ok_or("a sourceEventSeqs member is not a sequence number")?);
            continue;
        }
        let pair: Vec<View<'_>> = entry.elements().take(3).collect();
        let [start, end] = pair[..] else { return Err("a sourceEventSeqs range is not a pair") };
        let (Some(start), Some(end)) = (start.count(), end.count()) else {
            return Err("a sourceEventSeqs range does not hold sequence numbers");
        };
        if start > end || end - start >= limit.saturating_sub(seqs.len() as u64) {
            return Err("a sourceEventSeqs range names more events than there are before it");
        }
        seqs.extend(start..=end);
        has_range = true;
    }
    if has_range && !is_rising(&seqs) {
        return Err("sourceEventSeqs with ranges does not rise");
    }
    Ok(seqs)
}

/// The stored form of a list, as the members of a JSON array: a list that does not rise stays as it is.
pub fn encode_seq_ranges(seqs: &[u64]) -> String {
    let mut members: Vec<String> = Vec::new();
    let mut rest = seqs;
    let rises = is_rising(seqs);
    while let Some(&start) = rest.first() {
        let len =
            if rises { rest.iter().zip(start..).take_while(|(seq, expected)| **seq == *expected).count() } else { 1 };
        let (run, after) = rest.split_at(len);
        rest = after;
        if len >= 3 {
            members.push(format!("[{start},{}]", run[len - 1]));
        } else {
            members.extend(run.iter().map(u64::to_string));
        }
    }
    format!("[{}]", members.join(","))
}

fn is_rising(seqs: &[u64]) -> bool {
    seqs.windows(2).all(|pair| pair[0] < pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::json::parse;

    fn check(text: &str, limit: u64, expected: Option<&[u64]>) {
        assert_eq!(decode_seq_ranges(parse(text).unwrap(), limit).ok().as_deref(), expected, "{text}");
    }

    #[test]
    fn decodes_what_the_codec_decodes() {
        check("[0,[1,3]]", 9, Some(&[0, 1, 2, 3]));
        check("[[1,1]]", 9, Some(&[1]));
        check("[3,2]", 9, Some(&[3, 2]));
        check("[3,[0,1]]", 9, None);
        check("[[3,0]]", 9, None);
        check("[[0,9007199254740990]]", 9, None);
        check("[1.5]", 9, None);
        check("{}", 9, None);
    }

    #[test]
    fn encodes_what_the_codec_encodes() {
        assert_eq!(encode_seq_ranges(&[3, 4, 5, 7, 8]), "[[3,5],7,8]");
        assert_eq!(encode_seq_ranges(&[1, 2]), "[1,2]");
        assert_eq!(encode_seq_ranges(&[5, 4, 3]), "[5,4,3]");
        assert_eq!(encode_seq_ranges(&[1, 2, 3, 9, 8]), "[1,2,3,9,8]");
        assert_eq!(encode_seq_ranges(&[]), "[]");
    }
}
