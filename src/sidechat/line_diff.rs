//! How two texts differ, line by line.

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is in both.
    Same,
    /// It is in the second only.
    Added,
    /// It is in the first only.
    Removed,
}

impl Change {
    /// The stable name.
    pub fn name(self) -> &'static str {
        match self {
            Change::Same => "same",
            Change::Added => "added",
            Change::Removed => "removed",
        }
    }
}

/// The lines of both texts in one order, with as many as possible in common. Where a line could as well be
/// removed first, the added one comes first (sidechat.md §4); the answer depends on nothing but the texts.
///
/// It takes time and bits in proportion to the product of the numbers of lines; the text of a fold has at most
/// 20,000 characters.
pub fn compare<'t>(first: &'t str, second: &'t str) -> Vec<(Change, &'t str)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (first.lines().collect(), second.lines().collect());
    let width = new.len() + 1;
    // Whether, at this pair of lines, taking the new one first loses nothing.
    let mut adds = vec![0_u64; (old.len() * width).div_ceil(64)];
    let mut below = vec![0_u32; width];
    for (row, line) in old.iter().enumerate().rev() {
        let mut here = vec![0_u32; width];
        for (column, other) in new.iter().enumerate().rev() {
            here[column] = if line == other { below[column + 1] + 1 } else { below[column].max(here[column + 1]) };
            if here[column + 1] >= below[column] {
                let bit = row * width + column;
                adds[bit / 64] |= 1 << (bit % 64);
            }
        }
        below = here;
    }
    let mut lines = Vec::with_capacity(old.len() + new.len());
    let (mut row, mut column) = (0, 0);
    while row < old.len() || column < new.len() {
        let bit = row * width + column;
        if row < old.len() && column < new.len() && old[row] == new[column] {
            lines.push((Change::Same, old[row]));
            (row, column) = (row + 1, column + 1);
        } else if row == old.len() || column < new.len() && adds[bit / 64] >> (bit % 64) & 1 == 1 {
            lines.push((Change::Added, new[column]));
            column += 1;
        } else {
            lines.push((Change::Removed, old[row]));
            row += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(first: &str, second: &str) -> String {
        let sign = |change| match change {
            Change::Same => ' ',
            Change::Added => '+',
            Change::Removed => '-',
        };
        compare(first, second).iter().map(|(change, line)| format!("{}{line}\n", sign(*change))).collect()
    }

    #[test]
    fn what_is_common_stays_and_the_new_comes_first() {
        assert_eq!(shown("a\nb\nc", "a\nx\nc"), " a\n+x\n-b\n c\n");
        assert_eq!(shown("", "a"), "+a\n");
        assert_eq!(shown("a", ""), "-a\n");
        assert_eq!(shown("a\nb", "b\na"), "+b\n a\n-b\n");
        assert_eq!(shown("a\nb", "a\nb"), " a\n b\n");
    }

    proptest! {
        #[test]
        fn both_texts_can_be_had_back(first in "([ab]\n){0,9}", second in "([abc]\n){0,9}") {
            let lines = compare(&first, &second);
            let without = |unwanted: Change| -> String {
                let kept = lines.iter().filter(|(change, _)| *change != unwanted);
                kept.map(|(_, line)| format!("{line}\n")).collect()
            };
            prop_assert_eq!(without(Change::Added), &*first);
            prop_assert_eq!(without(Change::Removed), &*second);
        }
    }
}
