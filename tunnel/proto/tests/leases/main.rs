//! The lease machine against a reference, with crashes between any two steps; and what one machine does, case by case.

mod cases;
mod model;
mod world;
