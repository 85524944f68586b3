//! Strings of a certain form: names, hosts, methods.

use std::fmt;
use std::ops::Deref;
use std::sync::LazyLock;

use regex::Regex;
use serde::Serialize;

use crate::spec::reader::{Readable, Reader};
use crate::spec::shape::Shape;
use crate::spec::yaml::{Kind, Node};

/// A string of a certain form.
pub trait Word: Readable {
    /// The name in messages: `service name`.
    const NAME: &'static str;
    /// The form, as a regular expression.
    const PATTERN: &'static str;
    /// One that is right.
    const EXAMPLE: &'static str;
}

/// `a` or `an`, as it is spoken.
fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u', 'H']) { "an" } else { "a" }
}

macro_rules! word {
    ($(#[doc = $doc:literal])+ $type:ident, $name:literal, $pattern:literal, $example:literal, $rule:literal) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $type(String);

        impl $type {
            /// `text`, when it has the form.
            #[must_use]
            pub fn new(text: &str) -> Option<Self> {
                static FORM: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($pattern).ok());
                FORM.as_ref().is_some_and(|form| form.is_match(text)).then(|| Self(text.to_owned()))
            }

            /// The text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Word for $type {
            const NAME: &'static str = $name;
            const PATTERN: &'static str = $pattern;
            const EXAMPLE: &'static str = $example;
        }

        impl Readable for $type {
            fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
                let Kind::String(text) = &node.kind else {
                    return reader.wrong_type(node, &format!("a string: {} {}", article($name), $name));
                };
                Self::new(text).or_else(|| {
                    let help = format!("{}; for example `{}`", $rule, $example);
                    reader.invalid(node, format!("{} is not {} {}", crate::spec::yaml::shorten(text), article($name), $name), Some(help))
                })
            }

            fn shape() -> Shape {
                Shape::Word { name: $name, pattern: $pattern, example: $example }
            }
        }

        impl Deref for $type {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

word! {
    /// The name of a spec: kebab-case, so that it can stand in a URL as it is.
    SpecId, "spec id", "^[a-z0-9]{1,64}(-[a-z0-9]{1,64}){0,15}$", "refund-agent",
    "use lower-case letters, digits and single dashes"
}

word! {
    /// The name of a service: a DNS label.
    ServiceName, "service name", "^[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?$", "db",
    "use at most 63 lower-case letters, digits, dashes and underscores; leave out the domain and the port"
}

word! {
    /// The code of a finding of tool contracts.
    FindingCode, "code of a finding", "^[a-z][a-z_]{0,59}$", "checkpoint_required",
    "use a code that `touchstone tool-contracts explain` lists"
}

word! {
    /// The name of a replay.
    ReplayName, "replay name", "^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$", "refund-timeout",
    "use at most 60 letters, digits, `-` and `_`"
}

word! {
    /// The name of a cheat: an agent that is to fail. It stands in the word of an agent as it is.
    CheatName, "cheat name", "^[a-z0-9]{1,40}(-[a-z0-9]{1,40}){0,7}$", "write-the-verdict",
    "use lower-case letters, digits and single dashes"
}

word! {
    /// The name of an invariant.
    InvariantName, "invariant name", "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$", "email_sent",
    "use letters, digits, `_`, `-` and `.`"
}

word! {
    /// The name of an entry of `chaos_matrix`. Ids of scenarios begin with it, so it can stand in a URL as it is.
    ChaosName, "chaos cell name", "^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$", "search-tool-down",
    "use at most 40 letters, digits, `_` and `-`"
}

word! {
    /// The name of a tool, as the model calls it.
    CalledTool, "tool name", "^[A-Za-z0-9_][A-Za-z0-9_./:-]{0,199}$", "refund_order",
    "use letters, digits and `_`, `-`, `.`, `/`, `:`, as the tool is declared"
}

word! {
    /// A service, a route of one, or a glob over both.
    ToolGlob, "tool", r"^[A-Za-z0-9_.*?-]{1,100}(:[A-Z*?]{1,20} [/*?][^\x00-\x20]{0,300})?$", "shop:POST /refunds",
    "write a service, or a service, a colon, a method and a path; `*` stands for any characters"
}

word! {
    /// The name of a tool that is declared in a spec.
    ToolName, "tool name", "^[A-Za-z0-9_-]{1,64}$", "refund_order",
    "use at most 64 letters, digits, `_` and `-`, as clients of models do"
}

word! {
    /// The name of an argument of a tool.
    ArgumentName, "argument name", r"^[A-Za-z0-9_$@.-]{1,100}$", "order_id",
    "use letters, digits, `_`, `-` and `.`"
}

word! {
    /// A service, or a glob over services.
    ServiceGlob, "service", r"^[a-z0-9_*?-]{1,63}$", "db",
    "write the name of a service; `*` stands for any characters"
}

word! {
    /// A name that is looked up, or a glob over names.
    NameGlob, "name to look up", r"^[A-Za-z0-9_.*?-]{0,252}[A-Za-z0-9_*?-]$", "*.example.com",
    "write the name alone: leave out `https://`, the port and the path; `*` stands for any characters"
}

word! {
    /// The code of an error in SQL. Codes that begin with 00, 01 or 02 are no errors.
    SqlState, "SQLSTATE", r"^(0[3-9A-Z]|[1-9A-Z][0-9A-Z])[0-9A-Z]{3}$", "40001",
    "write five digits or upper-case letters in quotes, not those of a success or a warning"
}

word! {
    /// A glob over whole URLs.
    UrlGlob, "URL glob", r"^[^\x00-\x20]{1,500}$", "http://shop*/refunds*",
    "write a URL without blanks; `*` stands for any characters, `/` too"
}

word! {
    /// The path of a request, which may have a query.
    RequestPath, "request path", r"^/[^\x00-\x20#{}]{0,500}$", "/orders/2",
    "write a path from its first `/` on, without blanks and without the host"
}

word! {
    /// A place in a JSON document.
    JsonPath, "place in JSON", r"^([A-Za-z0-9_$@-]{1,100}|\[[0-9]{1,6}\])(\.[A-Za-z0-9_$@-]{1,100}|\[[0-9]{1,6}\]){0,20}$", "order.items[0].price",
    "write keys with dots between them, and numbers of list items in brackets"
}

word! {
    /// The name of an environment variable.
    EnvName, "variable name", "^[A-Za-z_][A-Za-z0-9_]{0,199}$", "LOG_LEVEL",
    "use letters, digits and `_`, and do not begin with a digit"
}

word! {
    /// The name of a secret, which is also its environment variable.
    SecretName, "secret name", "^[A-Z_][A-Z0-9_]{0,199}$", "API_KEY",
    "use upper-case letters, digits and `_`, and write the name alone, without `{{ }}`"
}

word! {
    /// The name of a matrix parameter.
    ParamName, "parameter name", "^[A-Za-z_][A-Za-z0-9_-]{0,99}$", "model",
    "use letters, digits, `_` and `-`, and do not begin with a digit"
}

word! {
    /// The name of a package of a Linux distribution.
    PackageName, "package name", "^[A-Za-z0-9][A-Za-z0-9+._:=~-]{0,199}$", "python3",
    "use the name that the distribution gives the package"
}

word! {
    /// The beginning of a path in the workspace: a file, or a folder that ends in `/`.
    PathPrefix, "path in the workspace", r"^([A-Za-z0-9_@+,=~ -]|\.[A-Za-z0-9_@+,=~ -])[^\\*?]{0,999}$", "output/",
    "write it relative to the workspace, without `./`, `..` and globs; folders end in `/`"
}

word! {
    /// A word for grouping.
    Label, "label", "^[A-Za-z0-9][A-Za-z0-9_.:/-]{0,99}$", "checkout",
    "use letters, digits and `_`, `.`, `:`, `/`, `-`, without blanks; templates are not replaced here"
}

word! {
    /// A host name.
    HostName, "host name", r"^([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.){0,20}[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$", "api.stripe.com",
    "write the name alone: leave out `https://`, the port and the path"
}

word! {
    /// A host name, or all names below one.
    HostGlob, "host name or `*.` glob", r"^(\*\.)?([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.){0,20}[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$", "*.example.com",
    "write the name alone: leave out `https://`, the port and the path; `*.` may stand in front"
}

word! {
    /// The name of an HTTP header.
    HeaderName, "header name", "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$", "Content-Type",
    "use the characters that a header name may have, without blanks and colons"
}

word! {
    /// An HTTP method.
    Method, "HTTP method", "^[A-Z]{1,20}$", "POST",
    "write it in upper-case letters"
}

word! {
    /// The name of a database table, with its schema where that matters.
    TableName, "table name", r"^[A-Za-z_][A-Za-z0-9_$]{0,62}(\.[A-Za-z_][A-Za-z0-9_$]{0,62})?$", "customers",
    "write the name without quotes, with its schema in front where that matters"
}

word! {
    /// A user of the image: a name or a number, with a group where that matters.
    UserName, "user", "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,31}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,31})?$", "nobody",
    "write a name or number of the image as a string, with a group after a colon where that matters"
}

word! {
    /// File permissions in octal.
    FileMode, "file mode", "^0?[0-7]{3}$", "0644",
    "write three octal digits as a string"
}

word! {
    /// A moment in UTC.
    Moment, "moment in UTC", r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?Z$", "2026-01-31T09:00:00Z",
    "write date and time in UTC"
}

impl Method {
    /// `GET`.
    pub(crate) fn get() -> Self {
        Self("GET".to_owned())
    }
}

impl FileMode {
    /// The permissions as a number.
    #[must_use]
    pub fn bits(&self) -> u32 {
        u32::from_str_radix(self.as_str(), 8).unwrap_or(0o644)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        ArgumentName, CalledTool, ChaosName, EnvName, FileMode, HeaderName, HostGlob, HostName, InvariantName,
        JsonPath, Label, Method, Moment, NameGlob, PackageName, ParamName, PathPrefix, ReplayName, RequestPath,
        SecretName, ServiceGlob, ServiceName, SpecId, SqlState, TableName, ToolGlob, ToolName, UrlGlob, UserName, Word,
    };

    #[test]
    fn every_example_has_its_own_form() {
        assert!(SpecId::new(SpecId::EXAMPLE).is_some());
        assert!(ServiceName::new(ServiceName::EXAMPLE).is_some());
        assert!(InvariantName::new(InvariantName::EXAMPLE).is_some());
        assert!(ReplayName::new(ReplayName::EXAMPLE).is_some());
        assert!(EnvName::new(EnvName::EXAMPLE).is_some());
        assert!(ChaosName::new(ChaosName::EXAMPLE).is_some());
        assert!(ToolGlob::new(ToolGlob::EXAMPLE).is_some());
        assert!(CalledTool::new(CalledTool::EXAMPLE).is_some() && CalledTool::new("a b").is_none());
        assert!(ServiceGlob::new(ServiceGlob::EXAMPLE).is_some());
        assert!(NameGlob::new(NameGlob::EXAMPLE).is_some());
        assert!(SqlState::new(SqlState::EXAMPLE).is_some());
        assert!(UrlGlob::new(UrlGlob::EXAMPLE).is_some());
        assert!(RequestPath::new(RequestPath::EXAMPLE).is_some() && RequestPath::new("orders/2").is_none());
        assert!(JsonPath::new(JsonPath::EXAMPLE).is_some());
        assert!(SecretName::new(SecretName::EXAMPLE).is_some());
        assert!(PackageName::new(PackageName::EXAMPLE).is_some());
        assert!(PathPrefix::new(PathPrefix::EXAMPLE).is_some());
        assert!(PathPrefix::new(".keystone/").is_some());
        assert!(ParamName::new(ParamName::EXAMPLE).is_some());
        assert!(Label::new(Label::EXAMPLE).is_some());
        assert!(HostName::new(HostName::EXAMPLE).is_some());
        assert!(HostGlob::new(HostGlob::EXAMPLE).is_some());
        assert!(HeaderName::new(HeaderName::EXAMPLE).is_some());
        assert!(Method::new(Method::EXAMPLE).is_some());
        assert!(TableName::new(TableName::EXAMPLE).is_some());
        assert!(UserName::new(UserName::EXAMPLE).is_some());
        assert!(FileMode::new(FileMode::EXAMPLE).is_some());
        assert!(ToolName::new(ToolName::EXAMPLE).is_some() && ToolName::new("files.read").is_none());
        assert!(ArgumentName::new(ArgumentName::EXAMPLE).is_some());
        assert!(Moment::new(Moment::EXAMPLE).is_some());
    }

    #[test]
    fn what_a_name_must_not_be() {
        for text in ["", "Refund", "refund_agent", "-a", "a-", "a--b", "a/b", "a b"] {
            assert!(SpecId::new(text).is_none(), "{text}");
        }
        for text in ["", "DB", "-db", "db-", "d.b", &"x".repeat(64)] {
            assert!(ServiceName::new(text).is_none(), "{text}");
        }
        for text in ["*", "*.", "a.*.b", "http://x", "x:80"] {
            assert!(HostGlob::new(text).is_none(), "{text}");
        }
    }
}
