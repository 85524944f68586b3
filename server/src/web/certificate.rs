//! The certificate of a spec, in a line.

use maud::{Markup, html};
use scenario::certificate::CertificateVerdict;
use store::SpecVersion;

use super::badges::Mark;
use crate::app::App;
use crate::error::ApiError;

/// A line about the certificate of a version: its own, or that of another version, or nothing where there is none.
pub(super) async fn line(app: &App, owner: &str, version: &SpecVersion) -> Result<Markup, ApiError> {
    let own = app.store.certificate(owner, &version.spec_id, &version.digest).await?;
    if let Some(certificate) = own {
        let mark = match certificate.verdict {
            CertificateVerdict::Certified => Mark::Pass,
            CertificateVerdict::NotCertified => Mark::Fail,
            CertificateVerdict::FlakyWorld => Mark::Flaky,
            CertificateVerdict::NotJudged => Mark::Error,
        };
        return Ok(html! {
            p.facts.certificate { span class={ "badge " (mark.class()) } {
                span.sign aria-hidden="true" { (mark.sign()) } (certificate)
            } }
        });
    }
    let other = app.store.newest_certificate(owner, &version.spec_id).await?;
    Ok(html! {
        @if other.is_some() {
            p.facts.certificate { span class="badge not-run" {
                span.sign aria-hidden="true" { (Mark::NotRun.sign()) } "certified for an earlier version of the spec"
            } }
        }
    })
}
