//! The services that the plugin host expects in addition to the provider.

use std::pin::Pin;

use async_trait::async_trait;
use futures::{Stream, StreamExt as _, stream};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming};

use crate::proto::health::health_check_response::ServingStatus;
use crate::proto::health::health_server::Health;
use crate::proto::health::{HealthCheckRequest, HealthCheckResponse};
use crate::proto::plugin::grpc_broker_server::GrpcBroker;
use crate::proto::plugin::grpc_controller_server::GrpcController;
use crate::proto::plugin::grpc_stdio_server::GrpcStdio;
use crate::proto::plugin::{ConnInfo, Empty, StdioData};

type Messages<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Shutdown, health, and two streams that stay silent.
#[derive(Clone)]
pub(crate) struct Host {
    stop: CancellationToken,
}

impl Host {
    /// Services that end the process when `stop` is cancelled.
    pub(crate) fn new(stop: CancellationToken) -> Host {
        Host { stop }
    }

    /// Stays open, because the host treats the end of the stream as the end of the plugin.
    fn silence<T: Send + 'static>(&self) -> Messages<T> {
        Box::pin(stream::pending().take_until(self.stop.clone().cancelled_owned()))
    }
}

#[async_trait]
impl GrpcController for Host {
    async fn shutdown(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        // The server stops accepting and then finishes what it is at: this answer too.
        self.stop.cancel();
        Ok(Response::new(Empty {}))
    }
}

#[async_trait]
impl GrpcStdio for Host {
    type StreamStdioStream = Messages<StdioData>;

    async fn stream_stdio(&self, _: Request<()>) -> Result<Response<Self::StreamStdioStream>, Status> {
        Ok(Response::new(self.silence()))
    }
}

#[async_trait]
impl GrpcBroker for Host {
    type StartStreamStream = Messages<ConnInfo>;

    async fn start_stream(
        &self,
        _: Request<Streaming<ConnInfo>>,
    ) -> Result<Response<Self::StartStreamStream>, Status> {
        Ok(Response::new(self.silence()))
    }
}

#[async_trait]
impl Health for Host {
    async fn check(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(serving()))
    }

    type WatchStream = Messages<HealthCheckResponse>;

    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let now = stream::iter([Ok(serving())]);
        Ok(Response::new(Box::pin(now.chain(self.silence()))))
    }
}

fn serving() -> HealthCheckResponse {
    HealthCheckResponse { status: ServingStatus::Serving.into() }
}
