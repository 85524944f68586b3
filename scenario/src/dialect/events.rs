//! Server-sent events, taken apart as they come.

/// Lines of a stream of events, collected until an event is whole.
#[derive(Debug, Default)]
pub(super) struct EventLines {
    /// The beginning of a line whose end is still to come.
    line: Vec<u8>,
    /// The data of the event whose end is still to come, with a line break after each line.
    data: String,
    /// True once the first line has come: only that may begin with a byte order mark.
    begun: bool,
}

/// Bytes that are no text.
#[derive(Debug)]
pub(super) struct NotText;

impl EventLines {
    /// Adds the next part of the stream, and passes on the data of each event that it completes.
    ///
    /// Only whole lines are looked at, so that a line that comes in many parts is looked at once.
    pub(super) fn push(&mut self, part: &[u8], mut event: impl FnMut(&str)) -> Result<(), NotText> {
        let Some(end) = memchr::memrchr(b'\n', part) else {
            self.line.extend_from_slice(part);
            return Ok(());
        };
        let mut lines = std::mem::take(&mut self.line);
        lines.extend_from_slice(&part[..end]);
        self.line.extend_from_slice(&part[end + 1..]);
        for line in lines.split(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            // A carriage return alone ends a line, too.
            for line in line.split(|byte| *byte == b'\r') {
                self.take_line(str::from_utf8(line).map_err(|_| NotText)?, &mut event);
            }
        }
        Ok(())
    }

    /// Drops everything that is still to be completed.
    pub(super) fn clear(&mut self) {
        (self.line, self.data) = (Vec::new(), String::new());
    }

    fn take_line(&mut self, line: &str, event: &mut impl FnMut(&str)) {
        let mark = if std::mem::replace(&mut self.begun, true) { None } else { line.strip_prefix('\u{feff}') };
        let line = mark.unwrap_or(line);
        if line.is_empty() {
            if let Some(data) = self.data.strip_suffix('\n') {
                event(data);
            }
            self.data.clear();
        } else if let ("data", value) = line.split_once(':').unwrap_or((line, "")) {
            self.data.push_str(value.strip_prefix(' ').unwrap_or(value));
            self.data.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::EventLines;

    fn events(parts: &[&[u8]]) -> (Vec<String>, bool) {
        let (mut lines, mut events) = (EventLines::default(), Vec::new());
        let all = parts.iter().all(|part| lines.push(part, |event| events.push(event.to_owned())).is_ok());
        (events, all)
    }

    #[track_caller]
    fn check(stream: &str, expected: &[&str]) {
        assert_eq!(events(&[stream.as_bytes()]), (expected.iter().map(ToString::to_string).collect(), true));
    }

    #[test]
    fn events_are_the_data_between_empty_lines() {
        check("data: a\n\ndata:b\r\n\r\n", &["a", "b"]);
        check("event: x\nid: 1\n: a comment\ndata: a\ndata:  b\ndata\n\n", &["a\n b\n"]);
        check("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["a"]);
        check("data: a\rdata: b\r\r\n", &["a\nb"]);
        check("\n\n: nothing\n\nevent: x\n\ndatas: x\n\ndata: it was cut", &[]);
    }

    #[test]
    fn bytes_that_are_no_text_end_it() {
        assert_eq!(events(&[b"data: a\n\ndata: \xff\n\n", b"data: b\n\n"]), (vec!["a".to_owned()], false));
    }

    proptest! {
        #[test]
        fn parts_do_not_matter(stream in "(data: ?[a-zü]{0,3}|:|x|\r?\n){0,20}", at in 0usize..60) {
            let bytes = stream.as_bytes();
            let (one, other) = bytes.split_at(at.min(bytes.len()));
            prop_assert_eq!(events(&[one, other]), events(&[bytes]));
        }
    }
}
