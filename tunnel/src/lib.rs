//! The tunnel: agent and gateway in one binary.
