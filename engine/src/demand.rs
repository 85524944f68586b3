//! Resources that one sandbox of a spec takes from the machine.

use scenario::Demand;
use scenario::spec::Spec;
use scenario::spec::sections::ServiceKind;

use crate::backend::{HOLDER, SERVICE_CPUS, SERVICE_MEMORY};
use crate::services::Addresses;

/// Returns the most that one sandbox of a spec takes from the machine.
///
/// The demand is `resources.cpu`; `resources.memory` and `resources.disk`, because the workspace is in memory; for each
/// container of a service the limits that it gets (2 cores, and 3 GiB with its data); and the memory of the container
/// that holds a service's own network. Mocks are served by the worker and take nothing.
#[must_use]
pub fn needs(spec: &Spec) -> Demand {
    let resources = &spec.resources;
    let own = (resources.cpu.get(), resources.memory.get().saturating_add(resources.disk.get()));
    let addresses = Addresses::of(spec);
    let containers = spec.services.iter().filter(|service| matches!(service.kind, ServiceKind::Container(_)));
    let (cores, memory) = containers.fold(own, |(cores, memory), service| {
        let holder = if addresses.has_own_network(service.name().as_str()) { HOLDER.memory + HOLDER.disk } else { 0 };
        (cores + SERVICE_CPUS, memory.saturating_add(SERVICE_MEMORY).saturating_add(holder))
    });
    Demand::new(cores, memory)
}

#[cfg(test)]
mod tests {
    use scenario::spec::load;

    use super::{Demand, needs};

    /// Returns the demand of a spec with these services.
    fn with(services: &str) -> Demand {
        let text = format!(
            "version: 1\nid: t\nbase: x\ntask: {{prompt: x}}\nagent: {{type: noop}}\nresources: {{cpu: 1.5, memory: 1Gi, disk: 512Mi}}\nservices: {services}\ninvariants: {{x: {{description: x, check: {{type: file_exists, path: x}}}}}}\n"
        );
        let loaded = load(&text, None);
        needs(&loaded.spec.unwrap_or_else(|| panic!("{:#?}", loaded.diagnostics)))
    }

    #[test]
    fn a_sandbox_needs_its_memory_and_its_workspace_and_mocks_need_nothing() {
        let alone = Demand { cpu_milli: 1500, memory: 1536 << 20 };
        assert_eq!(with("[]"), alone);
        assert_eq!(with("[{name: mail, type: http_mock}]"), alone);
    }

    #[test]
    fn each_service_needs_what_it_is_given() {
        assert_eq!(with("[{name: db, image: x, ports: [1]}]"), Demand { cpu_milli: 3500, memory: (1536 + 3072) << 20 });
        let crowded = with("[{name: a, image: x, ports: [1]}, {name: b, image: x, ports: [1]}]");
        assert_eq!(crowded, Demand { cpu_milli: 5500, memory: (1536 + 2 * 3072 + 2 * 65) << 20 });
    }
}
