//! The languages in which texts for a model are written.

/// A language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// Chinese, as in the product design.
    #[default]
    Chinese,
    /// English.
    English,
}
