//! A running provider, with one method for each call of the protocol.

mod others;
mod resources;

use std::future::Future;
use std::path::Path;
use std::sync::{OnceLock, mpsc};
use std::time::Duration;

use crate::codec;
use crate::proto::plugin::Empty;
use crate::proto::plugin::grpc_controller_client::GrpcControllerClient;
use crate::proto::tfplugin6 as proto;
use crate::proto::tfplugin6::provider_client::ProviderClient;
use crate::{Diagnostics, Type, Value};
use anyhow::{Context as _, Result, anyhow};
use serde_json::Value as Json;
use tokio::runtime::Runtime;
use tonic::Status;
use tonic::transport::Channel;

use super::answer;
use super::certificate::ClientCertificate;
use super::core;
use super::process::{Address, Memory, Process, connect};
use super::schema::Schemas;

/// Terraform's limit on messages, in bytes.
const MAX_MESSAGE: usize = 256 << 20;

/// A running provider, with Terraform's end of the connection.
///
/// All methods block and may be called from several threads at once, inside or outside an async
/// runtime. The process is killed when the value is dropped.
#[derive(Debug)]
pub struct Plugin {
    // Before the process: calls under way end first.
    runtime: Option<Runtime>,
    channel: Channel,
    process: Process,
    schemas: OnceLock<Schemas>,
    capabilities: proto::ClientCapabilities,
    meta: Option<proto::DynamicValue>,
}

impl Plugin {
    /// Starts `program` as Terraform does and connects. Of the environment it gets PATH, TMPDIR and
    /// `environment`.
    ///
    /// # Errors
    /// It does not start, its handshake is malformed, or it refuses the connection; the error holds
    /// what it wrote to standard error.
    pub fn launch(program: &Path, environment: &[(&str, &str)]) -> Result<Plugin> {
        Plugin::start(|| Process::start(program, environment))
    }

    /// Starts `program` in its debug mode and attaches to it, without TLS.
    ///
    /// # Errors
    /// It does not start or prints no `TF_REATTACH_PROVIDERS`.
    pub fn launch_debug(program: &Path, environment: &[(&str, &str)]) -> Result<Plugin> {
        Plugin::start(|| Process::start_debug(program, environment))
    }

    fn start(process: impl FnOnce() -> Result<Process>) -> Result<Plugin> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("cannot make a runtime")?;
        let process = process()?;
        let channel = wait(&runtime, connect(process.link(process.certificate())?))?
            .with_context(|| format!("cannot connect to the provider\n{}", process.stderr()))?;
        // Clients of Terraform 1.11 and later.
        let capabilities =
            proto::ClientCapabilities { deferral_allowed: false, write_only_attributes_allowed: true };
        Ok(Plugin {
            runtime: Some(runtime),
            channel,
            process,
            schemas: OnceLock::new(),
            capabilities,
            meta: None,
        })
    }

    /// Says what the client can do in all calls to come: deferred plans, write-only attributes.
    pub fn capabilities(&mut self, deferral: bool, write_only: bool) -> &mut Self {
        self.capabilities = proto::ClientCapabilities {
            deferral_allowed: deferral,
            write_only_attributes_allowed: write_only,
        };
        self
    }

    /// Sets the module's `provider_meta` block in all calls to come.
    ///
    /// # Errors
    /// The provider has no such block, or `json` does not match its schema.
    pub fn meta(&mut self, json: &Json) -> Result<()> {
        let schema = self.schema()?.meta.as_ref().context("the provider has no provider_meta block")?;
        let meta = encode(&codec::json::from_json(json, &schema.ty)?, &schema.ty)?;
        self.meta = meta;
        Ok(())
    }

    /// Makes a second connection as another client, and asks a question on it.
    ///
    /// # Errors
    /// The provider refuses the client.
    pub fn ask_as(&self, certificate: Option<&ClientCertificate>) -> Result<()> {
        let link = self.process.link(certificate)?;
        self.wait(async move {
            let channel = connect(link).await?;
            ProviderClient::new(channel).get_metadata(proto::get_metadata::Request {}).await?;
            Ok(())
        })?
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Ends the process by SIGKILL and waits for its end.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// Sends a signal by its name, such as `INT`.
    ///
    /// # Errors
    /// The process is gone.
    pub fn signal(&self, name: &str) -> Result<()> {
        self.process.signal(name)
    }

    /// Waits for the end of the process: its exit code, or 128 plus the signal that ended it.
    ///
    /// # Errors
    /// It still runs after `limit`.
    pub fn wait_exit(&self, limit: Duration) -> Result<i32> {
        self.process.wait_exit(limit)
    }

    /// What the process wrote to standard error so far: its log.
    pub fn stderr(&self) -> String {
        self.process.stderr()
    }

    /// What the process wrote to standard output after the handshake; should be nothing.
    pub fn stdout(&self) -> String {
        self.process.stdout()
    }

    /// Memory that the process uses, from `/proc`.
    ///
    /// # Errors
    /// The process is gone.
    pub fn memory(&self) -> Result<Memory> {
        self.process.memory()
    }

    /// Where the provider listens.
    pub fn address(&self) -> &Address {
        self.process.address()
    }

    /// The path of the provider's Unix socket; empty if it listens on a port.
    pub fn socket(&self) -> &Path {
        match self.process.address() {
            Address::Unix(path) => path,
            Address::Tcp(_) => Path::new(""),
        }
    }

    /// Closes the connection without a word, as a killed Terraform does, and leaves the process.
    pub fn disconnect(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }

    /// The schemas, asked for once.
    ///
    /// # Errors
    /// The call fails, or a schema is malformed.
    pub fn schema(&self) -> Result<&Schemas> {
        if let Some(schemas) = self.schemas.get() {
            return Ok(schemas);
        }
        let answer = self.call(async |mut client| {
            client.get_provider_schema(proto::get_provider_schema::Request {}).await
        })?;
        let identities = self.call(async |mut client| {
            client.get_resource_identity_schemas(proto::get_resource_identity_schemas::Request {}).await
        })?;
        let schemas = Schemas::read(&answer, &identities)?;
        Ok(self.schemas.get_or_init(|| schemas))
    }

    /// A value of a resource type from JSON; absent attributes are null.
    ///
    /// # Errors
    /// There is no such type, or `json` is no value of it.
    pub fn value(&self, type_name: &str, json: &Json) -> Result<Value> {
        let schema = self.schema()?.resource(type_name)?;
        let value =
            codec::json::from_json(json, &schema.ty).with_context(|| format!("value of {type_name}"))?;
        Ok(core::with_blocks(&schema.attributes, value))
    }

    /// `ValidateProviderConfig`, then `ConfigureProvider`.
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer.
    pub fn configure(&self, config: &Json) -> Result<Diagnostics> {
        self.configure_value(&codec::json::from_json(config, &self.schema()?.provider.ty)?)
    }

    /// The same with a configuration that may have unknown parts.
    ///
    /// # Errors
    /// The call fails. What the provider objects to is in the answer.
    pub fn configure_value(&self, config: &Value) -> Result<Diagnostics> {
        let config = encode(config, &self.schema()?.provider.ty)?;
        let request = proto::validate_provider_config::Request { config: config.clone() };
        let answer = self.call(async |mut client| client.validate_provider_config(request).await)?;
        let mut diagnostics = answer::diagnostics(answer.diagnostics);
        if diagnostics.has_error() {
            return Ok(diagnostics);
        }
        let request = proto::configure_provider::Request {
            terraform_version: "1.11.4".to_owned(),
            config,
            client_capabilities: Some(self.capabilities),
        };
        let answer = self.call(async |mut client| client.configure_provider(request).await)?;
        diagnostics.extend(answer::diagnostics(answer.diagnostics));
        Ok(diagnostics)
    }

    /// `StopProvider`: what the user's Ctrl-C becomes.
    ///
    /// # Errors
    /// The call fails.
    pub fn stop(&self) -> Result<()> {
        self.call(async |mut client| client.stop_provider(proto::stop_provider::Request {}).await)?;
        Ok(())
    }

    /// Asks the process to end, as Terraform does when it is done.
    ///
    /// # Errors
    /// The call fails.
    pub fn shutdown(&self) -> Result<()> {
        let channel = self.channel.clone();
        self.wait(async move { GrpcControllerClient::new(channel).shutdown(Empty {}).await })??;
        Ok(())
    }

    /// Any call of the protocol that has no method here.
    ///
    /// # Errors
    /// The call fails; the error holds what the provider wrote to standard error.
    pub fn call<T, F>(&self, call: impl FnOnce(ProviderClient<Channel>) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<tonic::Response<T>, Status>> + Send + 'static,
    {
        let answer = self.wait(call(self.client()))?;
        answer.map(tonic::Response::into_inner).map_err(|status| self.silence(&status))
    }

    /// Any call of the protocol that answers with a stream, to the end of the stream.
    ///
    /// # Errors
    /// The call or its stream fails; the error holds what the provider wrote to standard error.
    pub fn events<T, F>(&self, call: impl FnOnce(ProviderClient<Channel>) -> F) -> Result<Vec<T>>
    where
        T: Send + 'static,
        F: Future<Output = Result<tonic::Response<tonic::Streaming<T>>, Status>> + Send + 'static,
    {
        let call = call(self.client());
        let events = self.wait(async move {
            let mut stream = call.await?.into_inner();
            let mut events = Vec::new();
            while let Some(event) = stream.message().await? {
                events.push(event);
            }
            Ok(events)
        })?;
        events.map_err(|status| self.silence(&status))
    }

    fn client(&self) -> ProviderClient<Channel> {
        ProviderClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE)
    }

    fn silence(&self, status: &Status) -> anyhow::Error {
        let (code, message) = (status.code(), status.message());
        anyhow!("the provider did not answer: {code:?}: {message}\n{}", self.stderr())
    }

    fn wait<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> Result<T> {
        wait(self.runtime.as_ref().context("disconnected")?, task)
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        self.disconnect();
    }
}

/// Runs `task` to its end without entering the runtime, which the caller may be inside of.
fn wait<T: Send + 'static>(runtime: &Runtime, task: impl Future<Output = T> + Send + 'static) -> Result<T> {
    let (sender, receiver) = mpsc::channel();
    runtime.spawn(async move {
        // The receiver waits below for as long as this runs.
        let _received = sender.send(task.await);
    });
    receiver.recv().context("the call was abandoned")
}

fn encode(value: &Value, ty: &Type) -> Result<Option<proto::DynamicValue>> {
    Ok(Some(codec::encode(value, ty)?))
}
