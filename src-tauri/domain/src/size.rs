//! Sizes as people read them.

/// `740 bytes`, `7.4 kB`, `26.2 MB`: decimal, as shops and providers count.
pub fn size_in_words(bytes: u64) -> String {
    let (divisor, unit) = match bytes {
        0..1_000 => return format!("{bytes} bytes"),
        1_000..1_000_000 => (1_000, "kB"),
        _ => (1_000_000, "MB"),
    };
    let tenths = u128::from(bytes) * 10 / divisor;
    match tenths % 10 {
        0 => format!("{} {unit}", tenths / 10),
        part => format!("{}.{part} {unit}", tenths / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::size_in_words;

    #[test]
    fn f36_a_size_is_told_in_units_that_people_read() {
        for (bytes, words) in [
            (740, "740 bytes"),
            (7_400, "7.4 kB"),
            (10_000_000, "10 MB"),
            (36_700_160, "36.7 MB"),
            (26_214_400, "26.2 MB"),
            (u64::MAX, "18446744073709.5 MB"),
        ] {
            assert_eq!(size_in_words(bytes), words);
        }
    }
}
