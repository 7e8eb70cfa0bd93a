//! Proxies in front of a network that they see only through [`net::Dial`] and [`net::Listen`].

pub mod net;
