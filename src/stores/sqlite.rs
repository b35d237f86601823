//! Sessions in a SQLite database (observed.md §6); being written.
