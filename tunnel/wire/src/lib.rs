//! Keys and configuration files of the tunnel, without I/O.
