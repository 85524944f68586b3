//! Commands that run a scenario again, and that work for whoever reads them.
//!
//! A spec that was submitted to this server is a file of nobody. So it is offered as one, and the command runs that.

use http::HeaderMap;
use http::header::HOST;
use maud::{Markup, html};
use scenario::report::{Report, Row};
use scenario::untrusted;

use super::Shown;
use crate::web::experiment::Taken;

/// The commands that run it again.
pub(super) fn section(shown: &Shown, report: &Report, row: &Row) -> Markup {
    html! {
        section aria-labelledby="again" {
            h2 #again { "Run it again" }
            @match shown.taken {
                None => (copyable("command", &report.reproducer(row))),
                Some(taken) => {
                    @if shown.found.stored.scenario.snapshot.is_none() { (elsewhere(shown, report, row, taken)) }
                    (here(shown))
                }
            }
        }
    }
}

/// On a machine of the reader, with the spec as it is kept here.
fn elsewhere(shown: &Shown, report: &Report, row: &Row, taken: Taken) -> Markup {
    let experiment = &shown.found.experiment;
    let spec_id = &experiment.spec.spec_id;
    let (name, (unpack, spec_file)) = (taken.file_name(spec_id), taken.ready(spec_id));
    let mut report = report.clone();
    report.header.spec_file = spec_file;
    let commands: Vec<_> = unpack.into_iter().chain([report.reproducer(row)]).collect();
    let place = format!("/experiments/{}/spec?run={}", experiment.id, shown.found.run.id.number);
    html! {
        p { "On a machine of yours: " a download=(name) href=(place) { "download " (name) } ", the spec as it was run, and then" }
        (copyable("command", &commands.join("\n")))
    }
}

/// On this server, as an experiment of its own.
fn here(shown: &Shown) -> Markup {
    let url = shown.origin.as_ref().map(|origin| format!(" --url {origin}")).unwrap_or_default();
    let (run, scenario) = (&shown.found.run.id, &shown.found.stored.scenario.id);
    html! {
        p.after { "On this server, as an experiment of its own" }
        (copyable("rerun", &format!("touchstone rerun {}#{}/{scenario}{url}", run.experiment, run.number)))
    }
}

fn copyable(id: &str, text: &str) -> Markup {
    html! {
        div.copyable {
            pre id=(id) tabindex="0" { code { (untrusted::visible(text)) } }
            button type="button" data-copy=(id) hidden { "Copy" }
        }
    }
}

/// Where this server is for whoever asks, if that can stand in a command.
pub(super) fn origin(headers: &HeaderMap) -> Option<String> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".:-".contains(&byte);
    let host = text(HOST.as_str()).filter(|host| !host.is_empty() && host.bytes().all(is_plain))?;
    let scheme = if text("x-forwarded-proto") == Some("https") { "https" } else { "http" };
    Some(format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::origin;

    #[test]
    fn only_what_can_stand_in_a_command_is_an_origin() {
        let of = |host: &'static str| {
            let headers: HeaderMap = [(http::header::HOST, host.parse().expect("a header"))].into_iter().collect();
            origin(&headers)
        };
        assert_eq!(of("127.0.0.1:8012").as_deref(), Some("http://127.0.0.1:8012"));
        for wrong in ["", "a;rm", "a b", "$(x)", "a'b", "a/b"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}
