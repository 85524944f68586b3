//! Keeping and removing lines of baselines.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use scenario::baseline::{BaselineName, BaselineSize, Candidate, refusals};
use scenario::report;
use sea_query::{Expr, ExprTrait as _, OnConflict, Query};

use super::read::{COLUMNS, LineRow, lines};
use super::{BaselineLine, NewBaseline, SaveTerms, Saved};
use crate::Store;
use crate::db::Tx;
use crate::error::StoreError;
use crate::tables::Baselines;
use crate::time::{millis, timestamp};
use crate::{json, number};

/// The lock that whoever changes baselines holds.
const BASELINES: &str = "baselines";

impl Store {
    /// Keeps runs as lines of a baseline, in the place of the lines of their specs; other lines stay. When anything speaks
    /// against one of them, none is kept, unless by force.
    pub async fn save_baseline(
        &self,
        owner: &str,
        name: &BaselineName,
        new: &[NewBaseline],
        terms: &SaveTerms,
        now: Timestamp,
    ) -> Result<Saved, StoreError> {
        require_one_of_each(new)?;
        let mut tx = self.db.begin().await?;
        tx.lock(BASELINES).await?;
        let stored = sizes(&mut tx, owner, name).await?;
        let (mut kept, mut refused) = (Vec::new(), Vec::new());
        for one in new {
            let NewBaseline { report, is_whole, .. } = one;
            let candidate = Candidate { report, is_whole: *is_whole, passed_gate: terms.passed_gate };
            let found = refusals(candidate, stored.get(&report.spec_id).copied());
            let overridden = found.iter().map(ToString::to_string).collect();
            refused.extend(found);
            kept.push(line(owner, name, one, terms, overridden, now)?);
        }
        if !refused.is_empty() && !terms.force {
            return Ok(Saved::Refused(refused));
        }
        for (line, new) in kept.iter().zip(new) {
            put(&mut tx, line, &report::json(&new.report)).await?;
        }
        tx.commit().await?;
        Ok(Saved::Kept(kept))
    }

    /// Removes the lines of a baseline, or that of one spec; how many there were.
    pub async fn remove_baseline(
        &self,
        owner: &str,
        name: &BaselineName,
        spec_id: Option<&str>,
    ) -> Result<u64, StoreError> {
        let delete = Query::delete()
            .from_table(Baselines::Table)
            .and_where(Expr::col(Baselines::Owner).eq(owner))
            .and_where(Expr::col(Baselines::Name).eq(name.name()))
            .and_where(Expr::col(Baselines::Branch).eq(name.branch().unwrap_or_default()))
            .and_where_option(spec_id.map(|spec| Expr::col(Baselines::SpecId).eq(spec)))
            .to_owned();
        self.db.execute(&delete).await
    }
}

/// Refuses two runs of one spec, of which only one could be kept, and no run at all.
fn require_one_of_each(new: &[NewBaseline]) -> Result<(), StoreError> {
    if new.is_empty() {
        return Err(StoreError::Invalid("a baseline is made of at least one experiment".to_owned()));
    }
    let mut seen = BTreeSet::new();
    match new.iter().find(|one| !seen.insert(&one.report.spec_id)) {
        None => Ok(()),
        Some(twice) => {
            let spec = &twice.report.spec_id;
            Err(StoreError::Invalid(format!("a baseline has one run of each spec, and two of `{spec}` are given")))
        }
    }
}

/// The sizes of the lines that may be replaced. What a branch has not kept yet is replaced in the baseline itself for it.
async fn sizes(tx: &mut Tx, owner: &str, name: &BaselineName) -> Result<HashMap<String, BaselineSize>, StoreError> {
    let rows: Vec<LineRow> = tx.fetch_all(&lines(Some(owner), Some(name.name()))).await?;
    let mut sizes = HashMap::new();
    // Lines come with that of the baseline itself before those of its branches.
    for line in rows.into_iter().map(LineRow::read) {
        let line = line?;
        if line.name.branch().is_none() || line.name == *name {
            sizes.insert(line.spec_id, line.size);
        }
    }
    Ok(sizes)
}

fn line(
    owner: &str,
    name: &BaselineName,
    new: &NewBaseline,
    terms: &SaveTerms,
    overridden: Vec<String>,
    now: Timestamp,
) -> Result<BaselineLine, StoreError> {
    let NewBaseline { report, digest, .. } = new;
    Ok(BaselineLine {
        owner: owner.to_owned(),
        name: name.clone(),
        spec_id: report.spec_id.clone(),
        digest: digest.clone(),
        experiment: report.header.experiment_id.clone(),
        run: report.header.run,
        size: BaselineSize::of(report),
        passed: report.score.passed,
        verdict: report.score.verdict,
        saved_at: timestamp(millis(now))?,
        saved_by: terms.saved_by.clone(),
        reason: terms.reason.clone(),
        overridden,
    })
}

async fn put(tx: &mut Tx, line: &BaselineLine, report: &str) -> Result<(), StoreError> {
    let key = [Baselines::Owner, Baselines::Name, Baselines::Branch, Baselines::SpecId];
    let insert = Query::insert()
        .into_table(Baselines::Table)
        .columns(COLUMNS.into_iter().chain([Baselines::Report]))
        .values_panic([
            line.owner.as_str().into(),
            line.name.name().into(),
            line.name.branch().unwrap_or_default().into(),
            line.spec_id.as_str().into(),
            line.digest.clone().into(),
            line.experiment.as_str().into(),
            i64::from(line.run).into(),
            number::kept(line.size.cells).into(),
            number::kept(line.size.replicas).into(),
            number::kept(line.passed).into(),
            json::text(&line.verdict)?.into(),
            millis(line.saved_at).into(),
            line.saved_by.as_str().into(),
            line.reason.as_str().into(),
            json::text(&line.overridden)?.into(),
            report.into(),
        ])
        .on_conflict(
            OnConflict::columns(key)
                .update_columns(COLUMNS.into_iter().skip(key.len()).chain([Baselines::Report]))
                .to_owned(),
        )
        .to_owned();
    tx.execute(&insert).await?;
    Ok(())
}
