//! Certificates of specs: for each content of a spec the newest one. No retention removes them.

use scenario::certificate::Certificate;
use sea_query::{Expr, ExprTrait as _, OnConflict, Order, Query, SelectStatement};

use crate::Store;
use crate::db::row;
use crate::error::StoreError;
use crate::json;
use crate::page::{Listed, Page};
use crate::tables::Certificates;
use crate::time::millis;

/// A certificate that is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCertificate {
    /// Whose it is; '' when it is this machine's own.
    pub owner: String,
    /// The certificate.
    pub certificate: Certificate,
}

row! {
    /// A certificate.
    CertificateRow { owner: String, body: String }
}

impl CertificateRow {
    fn read(self) -> Result<StoredCertificate, StoreError> {
        Ok(StoredCertificate { certificate: json::read(&self.body)?, owner: self.owner })
    }
}

impl Store {
    /// Keeps a certificate, in place of an older one for the same content of the spec.
    pub async fn keep_certificate(&self, owner: &str, certificate: &Certificate) -> Result<(), StoreError> {
        let made_at = millis(certificate.made_at);
        let older = Query::delete()
            .from_table(Certificates::Table)
            .and_where(is_for(owner, &certificate.spec_id))
            .and_where(Expr::col(Certificates::Digest).eq(certificate.spec_digest.as_str()))
            .and_where(Expr::col(Certificates::MadeAt).lte(made_at))
            .to_owned();
        let columns = [
            Certificates::Owner,
            Certificates::SpecId,
            Certificates::Digest,
            Certificates::Verdict,
            Certificates::MadeAt,
            Certificates::Body,
        ];
        let insert = Query::insert()
            .into_table(Certificates::Table)
            .columns(columns)
            .values_panic([
                owner.into(),
                certificate.spec_id.as_str().into(),
                certificate.spec_digest.as_str().into(),
                certificate.verdict.word().into(),
                made_at.into(),
                json::text(certificate)?.into(),
            ])
            // One that was made later stays.
            .on_conflict(OnConflict::new().do_nothing().to_owned())
            .to_owned();
        let mut tx = self.db.begin().await?;
        tx.execute(&older).await?;
        tx.execute(&insert).await?;
        tx.commit().await
    }

    /// The certificate of exactly this content of an owner's spec.
    pub async fn certificate(
        &self,
        owner: &str,
        spec_id: &str,
        digest: &str,
    ) -> Result<Option<Certificate>, StoreError> {
        let select =
            select().and_where(is_for(owner, spec_id)).and_where(Expr::col(Certificates::Digest).eq(digest)).to_owned();
        self.read_certificate(&select).await
    }

    /// The newest certificate of an owner's spec, whatever the spec said then.
    pub async fn newest_certificate(&self, owner: &str, spec_id: &str) -> Result<Option<Certificate>, StoreError> {
        let select = select()
            .and_where(is_for(owner, spec_id))
            .order_by(Certificates::MadeAt, Order::Desc)
            .order_by(Certificates::Digest, Order::Desc)
            .limit(1)
            .to_owned();
        self.read_certificate(&select).await
    }

    async fn read_certificate(&self, select: &SelectStatement) -> Result<Option<Certificate>, StoreError> {
        let row = self.db.fetch_optional::<CertificateRow>(select).await?;
        Ok(row.map(CertificateRow::read).transpose()?.map(|stored| stored.certificate))
    }

    /// Certificates, newest first; of one owner only, if one is named.
    pub async fn certificates(
        &self,
        owner: Option<&str>,
        page: Page<'_>,
    ) -> Result<Listed<StoredCertificate>, StoreError> {
        let place = [Certificates::MadeAt, Certificates::Owner, Certificates::SpecId, Certificates::Digest];
        let after = page.key::<(i64, String, String, String)>()?.map(|(made_at, owner, spec_id, digest)| {
            let key = [made_at.into(), owner.into(), spec_id.into(), digest.into()];
            Expr::tuple(place.map(Expr::col)).lt(Expr::tuple(key))
        });
        let mut select = select();
        select
            .and_where_option(owner.map(|owner| Expr::col(Certificates::Owner).eq(owner)))
            .and_where_option(after)
            .limit(page.limit());
        for column in place {
            select.order_by(column, Order::Desc);
        }
        let rows: Vec<CertificateRow> = self.db.fetch_all(&select).await?;
        let stored = rows.into_iter().map(CertificateRow::read).collect::<Result<_, _>>()?;
        page.listed(stored, |StoredCertificate { owner, certificate }: &StoredCertificate| {
            let Certificate { made_at, spec_id, spec_digest, .. } = certificate;
            (millis(*made_at), owner.clone(), spec_id.clone(), spec_digest.clone())
        })
    }
}

fn select() -> SelectStatement {
    Query::select().columns([Certificates::Owner, Certificates::Body]).from(Certificates::Table).to_owned()
}

fn is_for(owner: &str, spec_id: &str) -> Expr {
    Expr::col(Certificates::Owner).eq(owner).and(Expr::col(Certificates::SpecId).eq(spec_id))
}
