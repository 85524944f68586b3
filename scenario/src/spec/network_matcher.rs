//! The connections and names that a fault of the network is about.

use globset::{GlobBuilder, GlobMatcher};

use crate::plan::glob_of_wildcards;
use crate::spec::Sections;
use crate::spec::sections::{Chaos, NetworkFault, NetworkMode, Service};

/// The connections and names that a rule is about, ready to be matched.
#[derive(Debug, Clone)]
pub enum NetworkMatcher {
    /// Connections to these services.
    Services(Vec<GlobMatcher>),
    /// Connections to all services.
    AllServices,
    /// Questions for these names, in lower case.
    Names(Vec<GlobMatcher>),
}

impl NetworkMatcher {
    /// The connections or names that a rule is about.
    #[must_use]
    pub fn new(mode: &NetworkMode) -> Self {
        match (mode, mode.services()) {
            (NetworkMode::DnsFailure(failure), _) => {
                Self::Names(failure.names.iter().filter_map(|name| glob(&name.to_ascii_lowercase())).collect())
            }
            (_, Some(services)) => Self::Services(services.iter().filter_map(|service| glob(service)).collect()),
            (_, None) => Self::AllServices,
        }
    }

    /// Matches a connection to a service, or to the model.
    #[must_use]
    pub fn is_about_service(&self, service: &str) -> bool {
        match self {
            Self::Services(globs) => globs.iter().any(|glob| glob.is_match(service)),
            Self::AllServices => true,
            Self::Names(_) => false,
        }
    }

    /// Matches a question for a name, without a dot at its end.
    #[must_use]
    pub fn is_about_name(&self, name: &str) -> bool {
        match self {
            Self::Names(globs) => {
                let name = name.to_ascii_lowercase();
                globs.iter().any(|glob| glob.is_match(&name))
            }
            Self::Services(_) | Self::AllServices => false,
        }
    }
}

impl Sections {
    /// True when a fault of the network, in any chaos cell, is about connections to this service.
    #[must_use]
    pub fn has_network_faults_of(&self, service: &Service) -> bool {
        let cells = self.chaos_cells().map(|cell| &cell.shared);
        let mut worlds = std::iter::once(&self.chaos).chain(cells);
        let is_about = |fault: &NetworkFault| NetworkMatcher::new(&fault.mode).is_about_service(service.name());
        let breaks = |chaos: &Chaos| chaos.expanded(self.model.as_ref()).network_faults.iter().any(is_about);
        service.can_be_cut_off() && worlds.any(breaks)
    }
}

/// A glob in which `*` stands for any characters.
pub(crate) fn glob(pattern: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(&glob_of_wildcards(pattern)).literal_separator(false).backslash_escape(true).build();
    glob.ok().map(|glob| glob.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::NetworkMatcher;
    use crate::checks::testing::read;
    use crate::spec::sections::NetworkFault;

    fn matcher(fault: &str) -> NetworkMatcher {
        NetworkMatcher::new(&read::<NetworkFault>(&format!("{{{fault}}}")).mode)
    }

    #[test]
    fn a_rule_is_about_the_services_that_it_names_or_all() {
        let about = |fault: &str| ["shop", "shop-2", "model"].map(|service| matcher(fault).is_about_service(service));
        assert_eq!(about("mode: partition"), [true, true, true]);
        assert_eq!(about("mode: latency, services: [shop]"), [true, false, false]);
        assert_eq!(about("mode: bandwidth, services: ['shop*']"), [true, true, false]);
        assert_eq!(about("mode: partition, services: [x, mode?]"), [false, false, true]);
        assert_eq!(about("mode: dns_failure, names: ['*']"), [false, false, false]);
        assert!(!matcher("mode: partition").is_about_name("shop"));
    }

    #[test]
    fn a_rule_is_about_names_as_they_are_asked_for_in_any_case() {
        let about = |name: &str| matcher("mode: dns_failure, names: [Shop, '*.example.com']").is_about_name(name);
        assert!(about("shop") && about("SHOP") && about("a.b.Example.com"));
        assert!(!about("shop.services.internal") && !about("example.com") && !about("shops"));
    }
}
