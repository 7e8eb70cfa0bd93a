//! The generated wire types, server traits and clients.
//!
//! Source: `proto/*.proto`. They are public so that tests and tools can talk to a provider.

/// Terraform's plugin protocol, version 6.
pub mod tfplugin6 {
    #![expect(
        missing_docs,
        clippy::allow_attributes,
        clippy::allow_attributes_without_reason,
        reason = "generated from proto/tfplugin6.proto"
    )]
    tonic::include_proto!("tfplugin6");
}

/// Services that the plugin host expects in addition to the provider.
pub mod plugin {
    #![expect(
        missing_docs,
        clippy::allow_attributes,
        clippy::allow_attributes_without_reason,
        reason = "generated from proto/plugin.proto"
    )]
    tonic::include_proto!("plugin");
}

/// The standard health check of gRPC.
pub mod health {
    #![expect(
        missing_docs,
        clippy::allow_attributes,
        clippy::allow_attributes_without_reason,
        reason = "generated from proto/health.proto"
    )]
    tonic::include_proto!("grpc.health.v1");
}
