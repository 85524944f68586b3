//! Whole numbers, as people give them to options.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

/// Reads a whole number. A type without a zero takes none.
pub(crate) fn whole_number<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "this number is too large".to_owned(),
        IntErrorKind::Zero => "write a whole number from 1 on".to_owned(),
        _ => "write a whole number, such as 3".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::whole_number;

    #[test]
    fn what_is_no_whole_number_is_told_what_is() {
        assert_eq!(whole_number::<usize>("5"), Ok(5));
        assert_eq!(whole_number::<usize>("0"), Ok(0));
        for wrong in ["five", "", "1.5", "-1", "3x"] {
            let problem = whole_number::<usize>(wrong).expect_err(wrong);
            assert_eq!(problem, "write a whole number, such as 3", "{wrong}");
        }
        assert_eq!(whole_number::<NonZeroUsize>("0").expect_err("no zero"), "write a whole number from 1 on");
        assert_eq!(whole_number::<u32>("99999999999").expect_err("too large"), "this number is too large");
    }
}
