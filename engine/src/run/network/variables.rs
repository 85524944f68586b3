//! Environment variables that describe the sandbox's network to commands.

use std::collections::BTreeMap;

use gateways::addresses::DOMAIN;
use gateways::egress::Policy;
use scenario::spec::Spec;

use super::PROXY_PORT;
use super::trust::{BUNDLE, CERTIFICATE};
use crate::services::HTTPS;

/// Returns the environment variables that describe the sandbox's network to commands.
pub(crate) fn variables(spec: &Spec) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    let mut tell = |names: &[&str], value: &str| {
        variables.extend(names.iter().map(|name| ((*name).to_owned(), value.to_owned())));
    };
    if Policy::of(&spec.network.egress).lets_anything_out() {
        let proxy = format!("http://egress{DOMAIN}:{PROXY_PORT}");
        tell(&["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"], &proxy);
        let mut direct = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned(), DOMAIN.to_owned()];
        direct.extend(spec.services.iter().map(|service| service.name().to_string()));
        direct.extend(spec.network.dns_overrides.iter().map(|(host, _)| host.to_string()));
        tell(&["NO_PROXY", "no_proxy"], &direct.join(","));
    }
    if needs_authority(spec) {
        tell(&["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"], BUNDLE);
        tell(&["NODE_EXTRA_CA_CERTS"], CERTIFICATE);
    }
    variables
}

/// Returns true if something is served over HTTPS.
pub(super) fn needs_authority(spec: &Spec) -> bool {
    let is_secure = |port: &i64| *port == i64::from(HTTPS);
    !spec.network.dns_overrides.is_empty()
        || spec.services.iter().any(|service| service.mock().is_some() && service.ports().iter().any(is_secure))
}

#[cfg(test)]
mod tests {
    use scenario::spec::load;

    use super::variables;

    fn told(rest: &str) -> String {
        let text = format!(
            "version: 1\nid: t\nbase: debian\ntask: {{prompt: x}}\nagent: {{type: noop}}\n{rest}\n\
             invariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
        );
        let loaded = load(&text, None);
        let spec = loaded.spec.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        let variables = variables(&spec).into_iter().map(|(name, value)| format!("{name}={value}"));
        variables.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_closed_sandbox_is_told_nothing() {
        assert_eq!(told("services: [{name: mail, type: http_mock}]"), "");
        assert_eq!(told("network: {egress: {allow: ['*.services.internal']}}"), "");
    }

    #[test]
    fn a_way_out_and_names_of_the_outside_are_told() {
        let services = "services: [{name: mail, type: http_mock}]";
        insta::assert_snapshot!(told(&format!("{services}\nnetwork: {{egress: {{allow: [a.example]}}, dns_overrides: {{api.mail.example: mail}}}}")), @r"
        CURL_CA_BUNDLE=/run/touchstone/bundle.pem
        GIT_SSL_CAINFO=/run/touchstone/bundle.pem
        HTTPS_PROXY=http://egress.services.internal:3128
        HTTP_PROXY=http://egress.services.internal:3128
        NODE_EXTRA_CA_CERTS=/run/touchstone/ca.pem
        NO_PROXY=localhost,127.0.0.1,::1,.services.internal,mail,api.mail.example
        REQUESTS_CA_BUNDLE=/run/touchstone/bundle.pem
        SSL_CERT_FILE=/run/touchstone/bundle.pem
        http_proxy=http://egress.services.internal:3128
        https_proxy=http://egress.services.internal:3128
        no_proxy=localhost,127.0.0.1,::1,.services.internal,mail,api.mail.example
        ");
        assert!(told("services: [{name: mail, type: http_mock, ports: [443]}]").contains("SSL_CERT_FILE="));
    }
}
