//! Words as people use them: few often, most seldom (Zipf over 40,000). The same ones for the same seed.

pub const SEED: u64 = 20_261_130;
/// How many words there are.
const VOCABULARY: u64 = 40_000;

pub struct Words(u64);

impl Words {
    pub fn new(seed: u64) -> Words {
        Words(seed.max(1))
    }
    fn random(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    /// A rank from 1 on; the density falls with the rank.
    pub fn rank(&mut self) -> u64 {
        ((VOCABULARY as f64).powf(self.random())) as u64
    }
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + (self.random() * (high - low) as f64) as u64
    }
    /// The word of a rank: syllables, so that prefixes are shared as in a language.
    pub fn word(rank: u64) -> String {
        const SYLLABLES: [&str; 16] =
            ["ba", "ce", "di", "fo", "gu", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "wo", "xu", "za"];
        let mut left = rank;
        let mut word = String::new();
        while left > 0 || word.len() < 4 {
            word.push_str(SYLLABLES[(left % 16) as usize]);
            left /= 16;
        }
        word
    }
    pub fn text(&mut self, words: usize) -> String {
        (0..words).map(|_| Words::word(self.rank())).collect::<Vec<_>>().join(" ")
    }
}
