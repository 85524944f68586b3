//! The macros that define the sections of the language: the type, its reader and its description in one place.
//!
//! - `section!` a map with known keys. A field without default must be given, unless its type is an `Option`.
//! - `choice!` one of a few words.
//! - `tagged!` one of several sections, told apart by the word under a key.
//!
//! The doc comments are what users read in `touchstone explain` and in the reference, so they speak to users.

/// Defines a section: a struct, its reader, and its text in the reference.
macro_rules! section {
    (
        $(#[doc = $doc:literal])+
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $field_doc:literal])+
                $field:ident $(as $key:literal)? : $ty:ty $(= $default:expr)?
            ),* $(,)?
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        $vis struct $name {
            $(
                $(#[doc = $field_doc])+
                $(#[serde(rename = $key)])?
                pub $field: $ty,
            )*
        }

        impl $crate::spec::section::Fields for $name {
            #[expect(clippy::allow_attributes, reason = "a section without keys leaves the parameters unused")]
            #[allow(unused_variables, reason = "a section without keys leaves the parameters unused")]
            fn read_fields(map: &mut $crate::spec::reader::MapReader<'_>, reader: &mut $crate::spec::reader::Reader) -> Option<Self> {
                $(
                    let $field = $crate::spec::section::section!(@read map, reader, $crate::spec::section::section!(@key $field $($key)?), $ty $(, $default)?);
                )*
                Some(Self { $($field: $field?,)* })
            }

            fn section() -> $crate::spec::shape::Section {
                $crate::spec::shape::Section {
                    name: stringify!($name),
                    doc: $crate::spec::shape::doc_text(&[$($doc),+]),
                    fields: vec![$(
                        $crate::spec::section::section!(@field $crate::spec::section::section!(@key $field $($key)?), $ty, [$($field_doc),+] $(, $default)?),
                    )*],
                }
            }
        }

        impl $crate::spec::reader::Readable for $name {
            fn read(node: &$crate::spec::yaml::Node, reader: &mut $crate::spec::reader::Reader) -> Option<Self> {
                let mut map = $crate::spec::reader::MapReader::new(node, reader)?;
                let read = <Self as $crate::spec::section::Fields>::read_fields(&mut map, reader);
                map.finish(reader, &[]);
                read
            }

            fn shape() -> $crate::spec::shape::Shape {
                $crate::spec::shape::Shape::Section(<Self as $crate::spec::section::Fields>::section())
            }
        }
    };

    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };

    (@read $map:expr, $reader:expr, $key:expr, $ty:ty) => { $map.required::<$ty>($reader, $key) };
    (@read $map:expr, $reader:expr, $key:expr, $ty:ty, $default:expr) => { $map.optional::<$ty>($reader, $key, || $default) };

    (@field $key:expr, $ty:ty, [$($doc:literal),+]) => {
        $crate::spec::shape::Field {
            key: $key,
            doc: $crate::spec::shape::doc_text(&[$($doc),+]),
            shape: <$ty as $crate::spec::reader::Readable>::shape(),
            required: <$ty as $crate::spec::reader::Readable>::absent().is_none(),
            default: None,
        }
    };
    (@field $key:expr, $ty:ty, [$($doc:literal),+], $default:expr) => {
        $crate::spec::shape::Field {
            key: $key,
            doc: $crate::spec::shape::doc_text(&[$($doc),+]),
            shape: <$ty as $crate::spec::reader::Readable>::shape(),
            required: false,
            default: serde_json::to_value::<$ty>($default).ok(),
        }
    };
}

/// Defines a closed set of words, the same in YAML, JSON and messages.
macro_rules! choice {
    (
        $(#[doc = $doc:literal])+
        $vis:vis enum $name:ident {
            $( $(#[doc = $variant_doc:literal])+ $variant:ident = $word:literal ),+ $(,)?
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        $vis enum $name {
            $( $(#[doc = $variant_doc])+ #[serde(rename = $word)] $variant, )+
        }

        impl $name {
            /// The word in YAML, JSON and messages.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str(self.word())
            }
        }

        impl $crate::spec::reader::Readable for $name {
            fn read(node: &$crate::spec::yaml::Node, reader: &mut $crate::spec::reader::Reader) -> Option<Self> {
                let words = [$(($word, Self::$variant)),+];
                $crate::spec::section::read_word(node, reader, &words)
            }

            fn shape() -> $crate::spec::shape::Shape {
                $crate::spec::shape::Shape::Choice(vec![
                    $( $crate::spec::shape::Choice { word: $word, doc: $crate::spec::shape::doc_text(&[$($variant_doc),+]) }, )+
                ])
            }
        }
    };
}

/// Defines one of several sections, told apart by the word under a key.
macro_rules! tagged {
    (
        $(#[doc = $doc:literal])+
        $vis:vis enum $name:ident by $tag:literal $(or $absent:literal)? {
            $( $(#[doc = $variant_doc:literal])+ $variant:ident($section:ty) = $word:literal ),+ $(,)?
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        #[serde(tag = $tag)]
        $vis enum $name {
            $( $(#[doc = $variant_doc])+ #[serde(rename = $word)] $variant($section), )+
        }

        impl $name {
            /// The word that tells this variant from the others.
            #[must_use]
            pub fn word(&self) -> &'static str {
                match self { $(Self::$variant(_) => $word,)+ }
            }

            pub(crate) fn read_variant(
                map: &mut $crate::spec::reader::MapReader<'_>,
                reader: &mut $crate::spec::reader::Reader,
            ) -> Option<Self> {
                let word = $crate::spec::section::read_tag(map, reader, $tag, &[$($word),+], $crate::spec::section::tagged!(@absent $($absent)?))?;
                match word {
                    $( $word => <$section as $crate::spec::section::Fields>::read_fields(map, reader).map(Self::$variant), )+
                    _ => None,
                }
            }

            pub(crate) fn variants() -> Vec<(&'static str, $crate::spec::shape::Section)> {
                vec![$( ($word, <$section as $crate::spec::section::Fields>::section()), )+]
            }

            pub(crate) fn tagged_shape(common: Vec<$crate::spec::shape::Field>) -> $crate::spec::shape::Shape {
                $crate::spec::shape::Shape::Tagged($crate::spec::shape::Tagged {
                    name: stringify!($name),
                    doc: $crate::spec::shape::doc_text(&[$($doc),+]),
                    tag: $tag,
                    absent: $crate::spec::section::tagged!(@absent $($absent)?),
                    common,
                    variants: Self::variants(),
                })
            }
        }

        impl $crate::spec::reader::Readable for $name {
            fn read(node: &$crate::spec::yaml::Node, reader: &mut $crate::spec::reader::Reader) -> Option<Self> {
                let mut map = $crate::spec::reader::MapReader::new(node, reader)?;
                let read = Self::read_variant(&mut map, reader);
                $crate::spec::section::finish_tagged(&map, reader, $tag, Self::variants());
                read
            }

            fn shape() -> $crate::spec::shape::Shape {
                Self::tagged_shape(Vec::new())
            }
        }
    };

    (@absent) => { None };
    (@absent $absent:literal) => { Some($absent) };
}

pub(crate) use {choice, section, tagged};

use serde::Serialize;

use super::code::Code;
use super::diagnostic::{alternatives, did_you_mean};
use super::path::Segment;
use super::reader::{MapReader, Readable, Reader};
use super::shape::{Section, Shape};
use super::yaml::{Kind, Node, Span};

/// A section whose keys may share a map with those of another.
pub(crate) trait Fields: Sized {
    /// Reads this section's keys from a map.
    fn read_fields(map: &mut MapReader<'_>, reader: &mut Reader) -> Option<Self>;

    /// Its description.
    fn section() -> Section;
}

/// A section of which no key is given. Every key must have a default.
pub(crate) fn by_default<T: Readable>() -> T {
    let nothing = Node { span: Span::default(), kind: Kind::Map(Vec::new()) };
    T::read(&nothing, &mut Reader::default())
        .unwrap_or_else(|| unreachable!("a section with a required key has no default"))
}

/// Two sections whose keys share one map.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Joined<A, B> {
    /// The keys that belong to this section alone.
    #[serde(flatten)]
    pub own: A,
    /// The keys that it has in common with others.
    #[serde(flatten)]
    pub shared: B,
}

impl<A: Fields, B: Fields> Fields for Joined<A, B> {
    fn read_fields(map: &mut MapReader<'_>, reader: &mut Reader) -> Option<Self> {
        let own = A::read_fields(map, reader);
        let shared = B::read_fields(map, reader);
        Some(Self { own: own?, shared: shared? })
    }

    fn section() -> Section {
        let mut section = A::section();
        section.fields.extend(B::section().fields);
        section
    }
}

impl<A: Fields, B: Fields> Readable for Joined<A, B> {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        let mut map = MapReader::new(node, reader)?;
        let read = Self::read_fields(&mut map, reader);
        map.finish(reader, &[]);
        read
    }

    fn shape() -> Shape {
        Shape::Section(Self::section())
    }
}

/// Reads one of a few words.
pub(crate) fn read_word<T: Copy>(node: &Node, reader: &mut Reader, words: &[(&'static str, T)]) -> Option<T> {
    let names = || words.iter().map(|(word, _)| *word);
    let Some(written) = node.scalar() else {
        return reader.wrong_type(node, &alternatives(names()));
    };
    let found = words.iter().find(|(word, _)| *word == written).map(|(_, value)| *value);
    if found.is_none() {
        let message = format!("expected {}, found {}", alternatives(names()), node.describe());
        reader.report(Code::UnknownChoice, node.span, message, did_you_mean(written, names()));
    }
    found
}

/// Reads the key that tells variants apart.
pub(crate) fn read_tag(
    map: &mut MapReader<'_>,
    reader: &mut Reader,
    tag: &'static str,
    words: &[&'static str],
    absent: Option<&'static str>,
) -> Option<&'static str> {
    let node = map.node(tag);
    let is_absent = |node: &Node| absent.is_some() && matches!(&node.kind, Kind::String(text) if text.is_empty());
    let word = match (node, absent) {
        (None, Some(absent)) => Some(absent),
        (None, None) => map.required::<Word>(reader, tag).and(None),
        (Some(node), Some(absent)) if is_absent(node) => Some(absent),
        (Some(node), _) => {
            let pairs: Vec<_> = words.iter().map(|word| (*word, *word)).collect();
            reader.within(Segment::Key(tag.to_owned()), |reader| read_word(node, reader, &pairs))
        }
    };
    map.variant = word;
    word
}

/// A key that is only asked for in order to report that it is missing.
struct Word;

impl Readable for Word {
    fn read(_: &Node, _: &mut Reader) -> Option<Self> {
        Some(Self)
    }

    fn shape() -> Shape {
        Shape::Text
    }
}

/// Reports unknown keys of a tagged section; silent when the variant is unknown, because then every key is.
pub(crate) fn finish_tagged(
    map: &MapReader<'_>,
    reader: &mut Reader,
    tag: &str,
    variants: Vec<(&'static str, Section)>,
) {
    if map.variant.is_some() {
        let siblings: Vec<_> =
            variants.into_iter().map(|(word, section)| (format!("{tag}: {word}"), section.fields)).collect();
        map.finish(reader, &siblings);
    }
}
