//! The calls that a fault of a tool is about.

use globset::{GlobBuilder, GlobMatcher};

use crate::plan::glob_of_wildcards;
use crate::spec::sections::ToolTarget;

/// Returns true if a `tool` names a route, and not a whole service.
#[must_use]
pub fn is_route_glob(tool: &str) -> bool {
    tool.contains(':')
}

/// The host that a `tool` names, which may be a glob: the part before a route, when it has a dot. Services have none in their names.
#[must_use]
pub fn host_of_tool(tool: &str) -> Option<&str> {
    let name = tool.split(':').next().unwrap_or(tool);
    name.contains('.').then_some(name)
}

/// The calls that a rule is about, ready to be matched.
#[derive(Debug, Clone)]
pub struct ToolMatcher {
    written: String,
    tool: GlobMatcher,
    /// The services or hosts that it names, without a route.
    name: GlobMatcher,
    is_about_hosts: bool,
    is_route: bool,
    url: Option<GlobMatcher>,
}

impl ToolMatcher {
    /// The calls that a target is about; `None` when its globs cannot be compiled, which validation has refused.
    #[must_use]
    pub fn new(target: &ToolTarget) -> Option<Self> {
        let url = target.match_url.as_ref().map(|url| matcher(url.as_str()));
        let is_about_hosts = host_of_tool(target.tool.as_str()).is_some();
        let written = match target.tool.split_once(':') {
            // Names of hosts are compared in lower case.
            Some((host, route)) if is_about_hosts => format!("{}:{route}", host.to_ascii_lowercase()),
            None if is_about_hosts => target.tool.to_ascii_lowercase(),
            _ => target.tool.to_string(),
        };
        Some(Self {
            // A parameter of a route stands for one segment of a path.
            tool: matcher(&without_parameters(&written))?,
            name: matcher(written.split(':').next().unwrap_or(&written))?,
            written,
            is_about_hosts,
            is_route: is_route_glob(target.tool.as_str()),
            url: match url {
                Some(url) => Some(url?),
                None => None,
            },
        })
    }

    /// Matches a service as a whole, or one of its routes.
    #[must_use]
    pub fn is_about(&self, service: &str, method: &str, path: &str) -> bool {
        if self.is_route {
            self.tool.is_match(format!("{service}:{method} {path}"))
        } else {
            self.tool.is_match(service)
        }
    }

    /// Matches a service or host of whose calls some may be matched.
    #[must_use]
    pub fn may_be_about_service(&self, service: &str) -> bool {
        self.name.is_match(service)
    }

    /// Returns true if it is about hosts outside of the sandbox, and not about services.
    #[must_use]
    pub fn is_about_hosts(&self) -> bool {
        self.is_about_hosts
    }

    /// Returns true if it leaves calls out by their route or URL, which are not known of an encrypted connection.
    #[must_use]
    pub fn is_narrowed(&self) -> bool {
        self.is_route || self.url.is_some()
    }

    /// Matches a declared route instead of a call: it matches the route as it is written, or the route takes the path that it
    /// names.
    #[must_use]
    pub fn may_be_about_route(&self, service: &str, method: &str, route: &str) -> bool {
        let route = without_parameters(route);
        let takes = matcher(&format!("{service}:{method} {route}"));
        self.is_about(service, method, &route) || takes.is_some_and(|takes| takes.is_match(&self.written))
    }

    /// Matches a call of a service, whose route is `service:METHOD /path`.
    #[must_use]
    pub fn matches(&self, service: &str, route: &str, url: &str) -> bool {
        // A gateway that gets requests without their TLS cannot tell, so both schemes match.
        let secure = || url.replacen("http://", "https://", 1);
        let is_url = |glob: &GlobMatcher| glob.is_match(url) || glob.is_match(secure());
        let is_about = self.tool.is_match(if self.is_route { route } else { service });
        is_about && self.url.as_ref().is_none_or(is_url)
    }
}

/// `{id}` of a route as a wildcard.
fn without_parameters(tool: &str) -> String {
    let mut text = String::new();
    let mut rest = tool;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((_, behind)) = after.split_once('}') else { break };
        text.push_str(before);
        text.push('*');
        rest = behind;
    }
    text + rest
}

fn matcher(pattern: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(&glob_of_wildcards(pattern)).literal_separator(false).backslash_escape(true).build();
    glob.ok().map(|glob| glob.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::ToolMatcher;
    use crate::checks::testing::read;
    use crate::spec::sections::ToolTarget;

    fn matches(target: &str, method: &str, path: &str) -> bool {
        let target: ToolTarget = read(&format!("{{{target}}}"));
        let url = format!("http://shop{path}");
        ToolMatcher::new(&target).expect("a matcher").matches("shop", &format!("shop:{method} {path}"), &url)
    }

    #[test]
    fn a_tool_is_a_service_a_route_or_a_glob() {
        for all in ["tool: shop", "tool: '*'", "tool: sh?p", "tool: 'shop:* /*'", "tool: '*:POST /refunds'"] {
            assert!(matches(all, "POST", "/refunds"), "{all}");
        }
        for none in ["tool: sho", "tool: shops", "tool: 'shop:GET /refunds'", "tool: 'shop:POST /refund'"] {
            assert!(!matches(none, "POST", "/refunds"), "{none}");
        }
        assert!(matches("tool: 'shop:GET /orders/{id}'", "GET", "/orders/7"));
        assert!(!matches("tool: 'shop:GET /orders/{id}/items'", "GET", "/orders/7"));
    }

    #[test]
    fn a_rule_may_be_about_routes_that_take_its_path() {
        let may_be = |tool: &str, route: &str| {
            let target: ToolTarget = read(&format!("{{tool: '{tool}'}}"));
            ToolMatcher::new(&target).expect("a matcher").may_be_about_route("shop", "GET", route)
        };
        assert!(may_be("shop:GET /orders/7", "/orders/{id}") && may_be("shop:GET /orders/{id}", "/orders/{id}"));
        assert!(may_be("shop:GET /static/a.css", "/static/*") && may_be("shop:GET /orders/*", "/orders/{id}"));
        assert!(!may_be("shop:GET /order", "/orders/{id}") && !may_be("shop:POST /orders/7", "/orders/{id}"));
    }

    #[test]
    fn a_url_glob_narrows_it_and_crosses_slashes() {
        assert!(matches("tool: shop, match_url: 'http://shop/*/x'", "GET", "/a/b/x"));
        assert!(matches("tool: shop, match_url: '*?page=2'", "GET", "/a?page=2"));
        assert!(matches("tool: shop, match_url: 'https://shop/*'", "GET", "/a"));
        assert!(!matches("tool: shop, match_url: 'http://mail/*'", "GET", "/a"));
    }
}
