//! Calibration of model judges: labels of people compared with the scores of judges, from stored evidence.
//!
//! [`judged_outputs`] reads what judges said from evidence and asks nobody; [`read_labels`] reads what people say;
//! [`calibrate`] puts both together. A label and an output belong together by experiment, scenario and invariant.

mod best_threshold;
mod calibration;
mod csv;
mod labels;
mod outputs;
mod text;

pub use best_threshold::BestThreshold;
pub use calibration::{Calibration, Disagreement, FamilyAgreement, InvariantCalibration, calibrate};
pub use labels::{HumanLabel, Label, labels_as_lines, read_labels};
pub use outputs::{FamilyScore, Judged, JudgedOutput, Unasked, judged_outputs, unasked};
pub use text::text;
