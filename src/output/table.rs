//! Tables. The only file that knows comfy-table.

use super::TextOut;
use super::terminal_text::cut_to_width;
use comfy_table::{Cell, Table};
use std::io;
use unicode_width::UnicodeWidthStr;

/// How a column is shortened when the terminal is too narrow for the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shrink {
    /// Never.
    No,
    /// First.
    Yes,
}

/// No column is shortened to less, its space included.
const LEAST_WIDTH: usize = 10;

/// Prints rows under headings. Cells must be safe to print already.
pub fn print(text: &mut TextOut<'_>, columns: &[(&str, Shrink)], rows: &[Vec<String>]) -> io::Result<()> {
    let mut rows = rows.to_vec();
    if let Some(width) = text.width {
        fit(&mut rows, columns, width);
    }
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(columns.iter().map(|(name, _)| Cell::new(name)));
    for row in rows {
        table.add_row(row);
    }
    for (index, line) in table.lines().enumerate() {
        let line = line.trim_end();
        let line = if index == 0 { text.styled(super::Style::Bold, line) } else { line.to_owned() };
        text.line(&line)?;
    }
    Ok(())
}

/// Shortens the columns that may be shortened until the table fits.
fn fit(rows: &mut [Vec<String>], columns: &[(&str, Shrink)], width: usize) {
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(index, (name, _))| rows.iter().map(|row| row[index].width()).max().unwrap_or(0).max(name.width()) + 2)
        .collect();
    let may_shrink = |index: &usize| columns[*index].1 == Shrink::Yes;
    let shrinkable: Vec<usize> = (0..columns.len()).filter(may_shrink).collect();
    let fixed: usize = widths.iter().sum::<usize>() - shrinkable.iter().map(|index| widths[*index]).sum::<usize>();
    // The widest are shortened first, all to the same width.
    let fits = |most: &usize| fixed + shrinkable.iter().map(|index| widths[*index].min(*most)).sum::<usize>() <= width;
    let most = (LEAST_WIDTH..=width).rev().find(fits).unwrap_or(LEAST_WIDTH);
    for index in shrinkable.into_iter().filter(|index| widths[*index] > most) {
        for row in rows.iter_mut() {
            row[index] = cut_to_width(&row[index], most - 2).into_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_columns_are_shortened_until_the_table_fits() {
        let columns = [("ID", Shrink::No), ("TITLE", Shrink::Yes), ("CWD", Shrink::Yes)];
        let mut rows = vec![vec!["s1".to_owned(), "-".to_owned(), "x".repeat(60)]];
        fit(&mut rows, &columns, 40);
        assert_eq!(rows[0][2].width(), 40 - (2 + 2) - (5 + 2) - 2);
        let mut rows = vec![vec!["s1".to_owned(), "名".repeat(50), "x".repeat(60)]];
        fit(&mut rows, &columns, 40);
        assert_eq!((rows[0][1].width(), rows[0][2].width()), (15, 16));
        let mut rows = vec![vec!["s1".to_owned(), "t".to_owned(), "c".to_owned()]];
        fit(&mut rows, &columns, 5);
        assert_eq!(rows[0], ["s1", "t", "c"]);
    }
}
