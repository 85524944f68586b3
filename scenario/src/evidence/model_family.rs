//! Families of models: those of one vendor, which are likely to make the same mistakes.

/// The beginnings of the names of models, and who makes them.
const VENDORS: [(&str, &str); 22] = [
    ("gpt", "openai"),
    ("chatgpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("claude", "anthropic"),
    ("gemini", "google"),
    ("gemma", "google"),
    ("llama", "meta"),
    ("mistral", "mistral"),
    ("mixtral", "mistral"),
    ("ministral", "mistral"),
    ("magistral", "mistral"),
    ("codestral", "mistral"),
    ("qwen", "qwen"),
    ("qwq", "qwen"),
    ("deepseek", "deepseek"),
    ("grok", "xai"),
    ("command", "cohere"),
    ("phi", "microsoft"),
    ("nova", "amazon"),
    ("kimi", "moonshot"),
];

/// The family of a model by its name: the vendor before its last `/`, else whoever makes models of this name, else the name
/// itself.
#[must_use]
pub fn model_family(model: &str) -> String {
    let name = model.trim().to_lowercase();
    if let Some((before, _)) = name.rsplit_once('/') {
        return before.rsplit('/').next().unwrap_or(before).to_owned();
    }
    let vendor = VENDORS.iter().find(|(start, _)| name.starts_with(start));
    vendor.map_or(name, |(_, vendor)| (*vendor).to_owned())
}

#[cfg(test)]
mod tests {
    use super::model_family;

    #[test]
    fn models_of_one_vendor_are_one_family() {
        for (model, family) in [
            ("gpt-4o", "openai"),
            ("o3-mini", "openai"),
            ("openai/gpt-5", "openai"),
            ("openrouter/anthropic/claude-sonnet-4", "anthropic"),
            ("Claude-Haiku-4-5", "anthropic"),
            ("llama3.1:8b", "meta"),
            ("paragon-fast", "paragon-fast"),
            ("", ""),
        ] {
            assert_eq!(model_family(model), family, "{model}");
        }
    }
}
