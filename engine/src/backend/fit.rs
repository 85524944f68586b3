//! Requirements of a spec on the backend.

use std::collections::BTreeSet;

use scenario::spec::sections::{AgentKind, BackendName, Http, ServiceKind};
use scenario::spec::{Need, Spec};

/// Returns the backend that a spec insists on; `None` when any will do.
#[must_use]
pub fn insists_on(spec: &Spec) -> Option<BackendName> {
    let stated = spec.agent.as_ref().and_then(|agent| agent.common.backend);
    stated.or_else(|| spec.needs.contains(&Need::Docker).then_some(BackendName::Docker))
}

/// The images that a spec names, as far as no parameter is in their names.
#[must_use]
pub fn images(spec: &Spec) -> BTreeSet<String> {
    let own = agents_image(spec).into_iter().map(ToOwned::to_owned);
    let named = service_images(spec).map(|(_, image)| image).chain(own).chain([spec.base.source().to_owned()]);
    named.filter(|name| !name.contains("{{")).collect()
}

/// The services that are made from images, and those.
pub(super) fn service_images(spec: &Spec) -> impl Iterator<Item = (String, String)> {
    spec.services.iter().filter_map(|service| match &service.kind {
        ServiceKind::Container(container) => Some((service.name().to_string(), container.image.source().to_owned())),
        ServiceKind::HttpMock(_) => None,
    })
}

/// The image that the agent is.
pub(super) fn agents_image(spec: &Spec) -> Option<&str> {
    match &spec.agent.as_ref()?.kind {
        AgentKind::Image(image) => Some(image.image.source()),
        AgentKind::Http(Http { image, .. }) => image.as_ref().map(|image| image.source()),
        _ => None,
    }
}

/// Explains why a spec that insists on another backend cannot be run here.
pub(super) fn refusal(spec: &Spec, here: BackendName) -> Option<String> {
    let wanted = insists_on(spec).filter(|wanted| *wanted != here)?;
    let stated = spec.agent.as_ref().is_some_and(|agent| agent.common.backend.is_some());
    let said = if stated { format!("`agent.backend: {}`", wanted.word()) } else { "`needs: [docker]`".to_owned() };
    Some(match wanted {
        BackendName::Docker => format!("the spec insists on Docker ({said}), and sandboxes are made without it here"),
        BackendName::Local => format!(
            "the spec insists on sandboxes without Docker ({said}), and they are made with it here; use `--backend local`"
        ),
    })
}
