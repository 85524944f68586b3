//! Formats a duration for people.

/// `812 ms`, `1.2 s`, `3 min 05 s`, `2 h 10 min`.
#[must_use]
pub fn format_duration(milliseconds: u64) -> String {
    // Rounded first, so that nothing is told as 60 seconds of a minute.
    let tenths = (milliseconds + 50) / 100;
    let seconds = (milliseconds + 500) / 1000;
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        1000..59_950 => format!("{}.{} s", tenths / 10, tenths % 10),
        _ if seconds < 3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::format_duration;

    #[test]
    fn times_are_rounded_and_have_the_units_that_people_use() {
        for (milliseconds, words) in [
            (0, "0 ms"),
            (812, "812 ms"),
            (999, "999 ms"),
            (1000, "1.0 s"),
            (1773, "1.8 s"),
            (1949, "1.9 s"),
            (1950, "2.0 s"),
            (59_949, "59.9 s"),
            (59_950, "1 min 00 s"),
            (185_400, "3 min 05 s"),
            (3_599_400, "59 min 59 s"),
            (3_599_500, "1 h 00 min"),
            (7_800_000, "2 h 10 min"),
        ] {
            assert_eq!(format_duration(milliseconds), words);
        }
    }
}
