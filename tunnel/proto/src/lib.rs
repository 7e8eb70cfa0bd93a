//! WireGuard sessions, timers and routing tables, sans-IO.
