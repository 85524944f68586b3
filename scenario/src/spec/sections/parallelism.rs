//! `parallelism`: the matrix and the replicas of the scenario.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde::Serialize;

use super::Replicas;
use crate::spec::reader::{Readable, Reader};
use crate::spec::section::section;
use crate::spec::shape::Shape;
use crate::spec::types::{Many, ParamName, Table, Value, Whole};
use crate::spec::yaml::{Kind, Node};

section! {
    /// How often and with what the scenario is run: every cell of the matrix, `replicas` times.
    ///
    /// ```yaml
    /// parallelism:
    ///   replicas: 3
    ///   matrix:
    ///     language: [python, node]
    ///     strict: [true, false]
    ///   exclude:
    ///     - { language: node, strict: true }
    /// ```
    pub struct Parallelism {
        /// How often each cell is run: a number, or a rule that stops when a bar is decided.
        replicas: Replicas = Replicas::Fixed(Whole::new(1)),
        /// The parameters of each cell: a list of maps (one cell each), or a map of lists (every combination). They are
        /// `{{ params.NAME }}` in the spec, `scenario_params` for custom checks and `parameters` in results.
        matrix: Option<Matrix>,
        /// Cells to leave out: every cell that has all the values of one of these maps.
        exclude: Vec<Parameters> = Vec::new(),
        /// How many scenarios of an experiment may run at once.
        max_concurrent: Option<Whole<1, 1000>>,
    }
}

/// Maximum number of cells of a matrix before `exclude`.
pub(crate) const MOST_CELLS: usize = 20_000;

/// The values of one cell's parameters.
pub type Parameters = Table<ParamName, Value>;

/// The parameters of each cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Matrix {
    /// One map for each cell.
    Cells(Many<Parameters, MOST_CELLS>),
    /// Every combination of one value from each list.
    Product(Table<ParamName, Many<Value>, 1>),
}

impl Matrix {
    /// Returns the number of cells before `exclude`; saturates.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Cells(cells) => cells.len(),
            Self::Product(axes) => axes.values().fold(1, |cells: usize, values| cells.saturating_mul(values.len())),
        }
    }

    /// Returns true if there is no cell at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The names of all parameters.
    #[must_use]
    pub fn names(&self) -> BTreeSet<&str> {
        match self {
            Self::Cells(cells) => cells.iter().flat_map(|cell| cell.keys()).map(|name| name.as_str()).collect(),
            Self::Product(axes) => axes.keys().map(|name| name.as_str()).collect(),
        }
    }

    /// The values of a parameter, in their order; one that several cells have stands several times.
    pub fn values<'a>(&'a self, name: &'a str) -> Box<dyn Iterator<Item = &'a Value> + 'a> {
        let is_it = move |key: &ParamName| key.as_str() == name;
        match self {
            Self::Cells(cells) => Box::new(
                cells.iter().flat_map(|cell| cell.iter()).filter(move |(key, _)| is_it(key)).map(|(_, value)| value),
            ),
            Self::Product(axes) => {
                Box::new(axes.iter().filter(move |(key, _)| is_it(key)).flat_map(|(_, values)| values.iter()))
            }
        }
    }

    /// Returns the number of values in the largest parameter, counting those in lists and maps.
    #[must_use]
    pub fn largest(&self) -> usize {
        match self {
            Self::Cells(cells) => cells.iter().flat_map(|cell| cell.values()).map(Value::size).max().unwrap_or(0),
            Self::Product(axes) => axes.values().flat_map(|values| values.iter()).map(Value::size).max().unwrap_or(0),
        }
    }

    /// The cell at `index`, with the last parameter changing fastest.
    #[must_use]
    pub fn cell(&self, index: usize) -> IndexMap<String, Value> {
        match self {
            Self::Cells(cells) => cells
                .get(index)
                .into_iter()
                .flat_map(|cell| cell.iter())
                .map(|(name, value)| (name.to_string(), value.clone()))
                .collect(),
            Self::Product(axes) => {
                let mut rest = index;
                let mut cell: Vec<_> = axes
                    .iter()
                    .rev()
                    .map(|(name, values)| {
                        let value = values[rest % values.len()].clone();
                        rest /= values.len();
                        (name.to_string(), value)
                    })
                    .collect();
                cell.reverse();
                cell.into_iter().collect()
            }
        }
    }
}

impl Readable for Matrix {
    fn read(node: &Node, reader: &mut Reader) -> Option<Self> {
        match node.kind {
            Kind::List(_) => Many::read(node, reader).map(Self::Cells),
            Kind::Map(_) => Table::read(node, reader).map(Self::Product),
            _ => reader.wrong_type(node, "a list of maps, or a map of lists"),
        }
    }

    fn shape() -> Shape {
        Shape::Either(vec![Many::<Parameters, MOST_CELLS>::shape(), Table::<ParamName, Many<Value>, 1>::shape()])
    }
}
