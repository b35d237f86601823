//! The tokens of one call of a model.

/// The tokens of a call. The buckets have nothing in common but `reasoning`, which is part of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallUsage {
    /// What the model read and no cache held.
    pub input: u64,
    /// What it wrote.
    pub output: u64,
    /// Everything, as the provider says.
    pub total: Option<u64>,
    /// What it read from a cache.
    pub cache_read: Option<u64>,
    /// The part of the output that is reasoning.
    pub reasoning: Option<u64>,
}
