//! Problems of contracts, as findings about a spec.

use tool_contracts::{CompileError, Diagnostic};

use crate::count_noun;
use crate::spec::code::Code;
use crate::spec::validate::Rules;
use crate::untrusted;

/// The most problems of a set that are reported one by one.
const MOST_SHOWN: usize = 20;

/// Reports what is wrong with the contracts in a folder at the place of the rules, each with its place in its file.
pub(crate) fn report_contract_problems(error: &CompileError, folder: &str, rules: &mut Rules<'_>) {
    let errors: Vec<_> = error.diagnostics.iter().filter(|found| found.is_error()).collect();
    for found in errors.iter().take(MOST_SHOWN) {
        let Diagnostic { code, message, help, place, .. } = found;
        let span = &place.span;
        let message = format!("{folder}/{}:{}:{}: {code}: {message}", place.file, span.line, span.column);
        rules.report(Code::InvalidToolContracts, untrusted::line(&message, 400), help.as_deref());
    }
    if errors.is_empty() || errors.len() > MOST_SHOWN {
        let more = count_noun(errors.len().saturating_sub(MOST_SHOWN), "more error");
        let message = format!("the tool contracts in `{folder}` do not compile ({more})");
        rules.report(Code::InvalidToolContracts, message, None);
    }
}
