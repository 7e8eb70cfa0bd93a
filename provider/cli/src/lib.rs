//! The offline command.
