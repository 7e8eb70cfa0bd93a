//! Carriers of the tunnel's datagrams.
