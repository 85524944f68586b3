//! Guesses the side effect of a tool from its description.

use super::SeenTool;
use crate::read::tool::SideEffect;

/// Words with which names of reading tools begin.
const READS: [&str; 20] = [
    "check", "count", "describe", "download", "fetch", "find", "get", "has", "head", "is", "list", "load", "lookup",
    "query", "read", "retrieve", "search", "show", "status", "view",
];
/// Words in names of tools that move money.
const FINANCIAL: [&str; 13] = [
    "buy", "charge", "invoice", "pay", "payment", "payments", "payout", "purchase", "refund", "refunds", "sell",
    "transfer", "withdraw",
];
/// Words in names of tools that change rights.
const ADMIN: [&str; 9] =
    ["admin", "grant", "impersonate", "permission", "permissions", "revoke", "role", "roles", "sudo"];
/// Words in names of tools that destroy.
const DESTRUCTIVE: [&str; 10] =
    ["cancel", "clear", "delete", "destroy", "drop", "erase", "kill", "purge", "remove", "truncate"];

/// A side effect, and why it is guessed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Guess {
    pub(super) effect: SideEffect,
    pub(super) because: String,
}

/// Guesses the side effect of a tool. Where signs contradict each other, the guess is the more dangerous one.
pub(super) fn side_effect(tool: &SeenTool) -> Guess {
    let guess = |effect, because: String| Guess { effect, because };
    let method = tool.hints.method.as_deref().map(str::to_uppercase);
    let words = words(&tool.name);
    let has = |known: &[&str]| words.iter().find(|word| known.contains(&word.as_str()));
    let named = |word: &String| format!("its name has the word `{word}`");
    if let Some(method) = method.as_ref().filter(|method| ["GET", "HEAD"].contains(&method.as_str())) {
        return guess(SideEffect::Read, format!("its method is {method}"));
    }
    if tool.hints.is_read_only == Some(true) {
        return guess(SideEffect::Read, "it says that it only reads".to_owned());
    }
    let may_read = method.is_none() && tool.hints.is_read_only.is_none() && tool.hints.is_destructive != Some(true);
    if let Some(word) = words.first().filter(|word| may_read && READS.contains(&word.as_str())) {
        return guess(SideEffect::Read, format!("its name begins with `{word}`"));
    }
    if let Some(word) = has(&FINANCIAL) {
        return guess(SideEffect::Financial, named(word));
    }
    if let Some(word) = has(&ADMIN) {
        return guess(SideEffect::Admin, named(word));
    }
    if tool.hints.is_destructive == Some(true) {
        return guess(SideEffect::Destructive, "it says that it destroys".to_owned());
    }
    match (method, has(&DESTRUCTIVE)) {
        (Some(method), _) if method == "DELETE" => guess(SideEffect::Destructive, "its method is DELETE".to_owned()),
        (_, Some(word)) => guess(SideEffect::Destructive, named(word)),
        (Some(method), None) => guess(SideEffect::Write, format!("its method is {method}")),
        (None, None) => guess(SideEffect::Write, "nothing says that it only reads".to_owned()),
    }
}

/// The words of a name, in lower case: `issueRefund` and `issue_refund` are the same.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for sign in name.chars() {
        let begins = sign.is_uppercase() && was_small;
        if begins || !sign.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| sign.is_alphanumeric()) {
            word.extend(sign.to_lowercase());
        }
        was_small = sign.is_lowercase() || sign.is_numeric();
    }
    words.retain(|word| !word.is_empty());
    words
}
