//! Entry points for fuzzing.
