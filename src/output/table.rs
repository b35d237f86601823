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
    let total: usize = widths.iter().sum();
    let shrinkable: usize =
        columns.iter().zip(&widths).filter(|((_, shrink), _)| *shrink == Shrink::Yes).map(|(_, width)| width).sum();
    if total <= width || shrinkable == 0 {
        return;
    }
    let left = shrinkable.saturating_sub(total - width);
    for (index, (_, shrink)) in columns.iter().enumerate() {
        if *shrink == Shrink::Yes {
            let share = (widths[index] * left / shrinkable).saturating_sub(2).max(8);
            for row in rows.iter_mut() {
                row[index] = cut_to_width(&row[index], share).into_owned();
            }
        }
    }
}
