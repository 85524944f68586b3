//! Whole numbers, as people give them to options.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

/// The reason why a text is not the whole number that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WholeNumberError {
    /// It does not fit.
    #[error("this number is too large")]
    TooLarge,
    /// It is zero, where none can be.
    #[error("write a whole number from 1 on")]
    Zero,
    /// It is something else.
    #[error("write a whole number, such as 3")]
    NoNumber,
}

/// Reads a whole number. A type without a zero takes none.
pub(crate) fn whole_number<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, WholeNumberError> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => WholeNumberError::TooLarge,
        IntErrorKind::Zero => WholeNumberError::Zero,
        _ => WholeNumberError::NoNumber,
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
            assert_eq!(problem.to_string(), "write a whole number, such as 3", "{wrong}");
        }
        let problem = whole_number::<NonZeroUsize>("0").expect_err("no zero");
        assert_eq!(problem.to_string(), "write a whole number from 1 on");
        let problem = whole_number::<u32>("99999999999").expect_err("too large");
        assert_eq!(problem.to_string(), "this number is too large");
    }
}
