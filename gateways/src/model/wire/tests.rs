//! The bytes of every dialect.

use scenario::dialect::{Answer, ReadLimits, StreamReader};
use scenario::evidence::{Dialect, TokenCount};
use serde_json::json;

use super::{Finish, Reply, ReplyTool, pieces};
use crate::model::limits::READ;

fn reply(content: Option<&str>, tools: bool) -> Reply {
    let tool = |index: usize, name: &str| ReplyTool {
        key: format!("2_{index}"),
        id: None,
        name: name.to_owned(),
        arguments: json!({"path": "notes.txt"}),
        broken: None,
    };
    Reply {
        number: 5,
        id: None,
        model: "m".to_owned(),
        content: content.map(ToOwned::to_owned),
        tools: if tools { vec![tool(0, "read"), tool(1, "list")] } else { Vec::new() },
        tokens: TokenCount { input: 11, output: 7, cache_read: 0, estimated: false },
        choices: 1,
        include_usage: true,
        finish: Finish::Natural,
    }
}

fn rendered(dialect: Dialect, stream: bool, reply: &Reply) -> String {
    String::from_utf8(reply.render(dialect, stream).to_vec()).expect("text")
}

#[test]
fn every_dialect_has_its_bytes() {
    for (name, dialect) in [("chat", Dialect::Chat), ("responses", Dialect::Responses), ("messages", Dialect::Messages)]
    {
        for (what, reply) in
            [("text", reply(Some("All done, as you asked me to."), false)), ("tools", reply(None, true))]
        {
            insta::assert_snapshot!(format!("{name}_{what}"), rendered(dialect, false, &reply));
            insta::assert_snapshot!(format!("{name}_{what}_stream"), rendered(dialect, true, &reply));
        }
    }
}

#[test]
fn several_choices_have_tools_of_their_own() {
    let reply = Reply { choices: 2, include_usage: false, ..reply(Some("x"), true) };
    let whole = rendered(Dialect::Chat, false, &reply);
    assert!(whole.contains("\"call_2_0\"") && whole.contains("\"call_2_0_c1\""), "{whole}");
    let stream = rendered(Dialect::Chat, true, &reply);
    assert!(stream.contains("\"call_2_1_c1\"") && !stream.contains("usage"), "{stream}");
}

#[test]
fn what_is_written_is_read_back_the_same_from_one_piece_and_from_a_stream() {
    for dialect in [Dialect::Chat, Dialect::Responses, Dialect::Messages] {
        for reply in [
            reply(Some("Text ünd more, long enough for some pieces."), false),
            reply(Some("x"), true),
            reply(None, true),
        ] {
            for limits in [READ, ReadLimits::NONE] {
                let whole = Answer::read_whole(dialect, &reply.render(dialect, false), limits).expect("an answer");
                let mut reader = StreamReader::new(dialect, limits);
                reply.render(dialect, true).chunks(7).for_each(|part| reader.push(part));
                let streamed = Answer { pieces_bytes: 0, ..reader.finish() };
                assert_eq!(whole.usage, Some(reply.tokens), "{dialect:?}");
                assert_eq!(whole, streamed, "{dialect:?}");
                let tools: Vec<_> = whole.calls().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
                let expected = [("read", r#"{"path":"notes.txt"}"#), ("list", r#"{"path":"notes.txt"}"#)];
                assert_eq!(tools, expected[..reply.tools.len()]);
            }
        }
    }
}

#[test]
fn pieces_make_the_text_and_are_not_too_many() {
    for text in ["", "ä", &"long text ".repeat(5000)] {
        assert_eq!(pieces(text).collect::<String>(), text);
        assert!(pieces(text).count() <= 64);
    }
}
