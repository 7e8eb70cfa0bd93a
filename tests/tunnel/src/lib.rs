//! A lab of network namespaces in which the tunnel meets other implementations.
