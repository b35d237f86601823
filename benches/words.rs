//! Pseudo-random words that are the same in every run.

/// A generator of numbers (SplitMix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.number() % bound
    }

    /// A number from `low` to `high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
}

const SYLLABLES: [&str; 32] = [
    "ba", "co", "den", "er", "fi", "gra", "hol", "in", "ja", "ker", "lo", "men", "na", "or", "per", "qua", "re", "sta",
    "ti", "un", "ver", "wi", "xe", "yo", "zu", "an", "ble", "tion", "ing", "ed", "al", "ous",
];

/// One word; a few words make up most of a text, as in any language.
pub(crate) fn word(random: &mut Random) -> String {
    let rank = (0..4).map(|_| random.below(500)).product::<u64>() / 500u64.pow(3);
    let mut shape = Random::new(rank);
    (0..shape.between(1, 3)).map(|_| SYLLABLES[shape.below(32) as usize]).collect()
}

/// A text of at least so many bytes: sentences, a line feed now and then.
pub(crate) fn text(random: &mut Random, bytes: u64) -> String {
    let mut text = String::new();
    while (text.len() as u64) < bytes {
        text.push_str(&word(random));
        text.push_str(match random.below(60) {
            0..=4 => ". ",
            5 => "\n",
            _ => " ",
        });
    }
    text
}
