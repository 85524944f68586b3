//! Numbers of things in words for people: `1 scenario`, `2 scenarios`.

use std::fmt::Display;

/// `1 spec`, `2 specs`.
#[must_use]
pub fn count_noun<N: Display + PartialEq + From<u8>>(number: N, noun: &str) -> String {
    count_noun_as(number, noun, &format!("{noun}s"))
}

/// The same where more than a letter changes: `1 run is`, `2 runs are`.
#[must_use]
pub fn count_noun_as<N: Display + PartialEq + From<u8>>(number: N, one: &str, many: &str) -> String {
    let words = if number == N::from(1) { one } else { many };
    format!("{number} {words}")
}

#[cfg(test)]
mod tests {
    use super::{count_noun, count_noun_as};

    #[test]
    fn one_is_one_and_everything_else_is_many() {
        assert_eq!(
            [0_usize, 1, 2].map(|number| count_noun(number, "scenario")),
            ["0 scenarios", "1 scenario", "2 scenarios"]
        );
        assert_eq!([1_u64, 7].map(|number| count_noun_as(number, "run is", "runs are")), ["1 run is", "7 runs are"]);
    }
}
