//! The places at which the events of a stream end.

/// The places right behind each whole event, which an empty line ends. Lines end with `\n` or `\r\n`.
pub(super) fn event_ends(stream: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let mut begin = 0;
    let mut is_begun = false;
    memchr::memchr_iter(b'\n', stream).filter_map(move |at| {
        let line = &stream[begin..at];
        begin = at + 1;
        let is_empty = matches!(line, b"" | b"\r");
        let is_end = is_empty && is_begun;
        is_begun = !is_empty;
        is_end.then_some(begin)
    })
}

#[cfg(test)]
mod tests {
    use super::event_ends;

    #[test]
    fn an_event_ends_with_an_empty_line() {
        let ends = |stream: &str| event_ends(stream.as_bytes()).collect::<Vec<_>>();
        assert_eq!(ends("data: a\n\ndata: b\r\n\r\n"), [9, 20]);
        assert_eq!(ends("event: x\ndata: a\n\n\n\ndata: b\n"), [18], "empty lines alone are no event");
        assert_eq!(ends("\n\ndata: it was cut"), [0; 0]);
    }
}
