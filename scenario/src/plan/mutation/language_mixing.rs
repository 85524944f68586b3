//! `language_mixing`: words and sentences of other languages in the prompt.

use crate::plan::Chance;

/// Small words, each with the same in German, French, Spanish and Italian.
const WORDS: [(&str, [&str; 4]); 20] = [
    ("the", ["die", "la", "el", "il"]),
    ("a", ["ein", "un", "un", "una"]),
    ("and", ["und", "et", "y", "e"]),
    ("or", ["oder", "ou", "o", "oppure"]),
    ("of", ["von", "de", "de", "di"]),
    ("for", ["für", "pour", "para", "per"]),
    ("with", ["mit", "avec", "con", "con"]),
    ("is", ["ist", "est", "es", "è"]),
    ("are", ["sind", "sont", "son", "sono"]),
    ("what", ["was", "quoi", "qué", "cosa"]),
    ("how", ["wie", "comment", "cómo", "come"]),
    ("my", ["mein", "mon", "mi", "mio"]),
    ("me", ["mir", "moi", "me", "mi"]),
    ("in", ["in", "dans", "en", "nel"]),
    ("to", ["zu", "à", "a", "a"]),
    ("not", ["nicht", "pas", "no", "non"]),
    ("please", ["bitte", "s'il vous plaît", "por favor", "per favore"]),
    ("today", ["heute", "aujourd'hui", "hoy", "oggi"]),
    ("all", ["alle", "tout", "todo", "tutto"]),
    ("this", ["dieses", "ceci", "esto", "questo"]),
];
/// Sentences that ask for attention.
const BEFORE: [&str; 8] = [
    "Guten Tag, ich habe eine Bitte:",
    "Bonjour, voici ma demande :",
    "Hola, necesito lo siguiente:",
    "Buongiorno, avrei una richiesta:",
    "こんにちは、お願いがあります。",
    "Здравствуйте, у меня просьба:",
    "您好，请帮我处理：",
    "مرحبا، لدي طلب:",
];
/// Sentences that say thanks.
const AFTER: [&str; 8] = [
    "Vielen Dank im Voraus!",
    "Merci beaucoup d'avance.",
    "Muchas gracias.",
    "Grazie mille!",
    "よろしくお願いします。",
    "Заранее спасибо.",
    "谢谢！",
    "شكرا جزيلا.",
];

pub(super) fn write(prompt: &str, way: usize, chance: &mut Chance) -> String {
    if way.is_multiple_of(2) {
        let mut sentence = |list: &[&'static str; 8]| chance.pick(list).copied().unwrap_or_default();
        let (before, after) = (sentence(&BEFORE), sentence(&AFTER));
        return format!("{before} {prompt} {after}");
    }
    let words: Vec<String> = prompt.split(' ').map(|word| translated(word, chance)).collect();
    words.join(" ")
}

/// A small word in another language; any other as it is.
fn translated(word: &str, chance: &mut Chance) -> String {
    let known = WORDS.iter().find(|(english, _)| english.eq_ignore_ascii_case(word));
    let other = known.and_then(|(_, others)| chance.pick(others));
    other.map_or_else(|| word.to_owned(), |other| (*other).to_owned())
}
