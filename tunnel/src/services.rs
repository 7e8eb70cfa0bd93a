//! What programs of this machine reach the netstack by: a runtime of its own for connections of both sides.

use std::{io, net::TcpListener, time::Duration};

use tokio::{io::copy_bidirectional, net::TcpStream, runtime::Runtime};
use warren_device::user::Net;

use crate::{
    cli::Forward,
    problem::{Context, Problem, Result},
};

/// Threads of the runtime: what they do is copying, and the data path has a thread of its own.
const THREADS: usize = 2;
/// How long a stop waits for tasks that are in the middle of something.
const GRACE: Duration = Duration::from_millis(100);

/// The running services. Dropping them resets their connections.
pub(crate) struct Services {
    runtime: Option<Runtime>,
}

impl Services {
    /// Binds and serves from now on.
    ///
    /// # Errors
    /// When an address is taken.
    pub(crate) fn start(net: Net, forwards: &[Forward]) -> Result<Self> {
        if forwards.is_empty() {
            return Ok(Self { runtime: None });
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("services")
            .enable_all()
            .build()
            .while_doing(|| "threads of the forwards".into())?;
        for forward in forwards {
            let listener = bind(forward)?;
            runtime.spawn(serve(listener, *forward, net.clone()));
            tracing::info!(listen = %forward.listen, to = %forward.to, "forwards");
        }
        Ok(Self { runtime: Some(runtime) })
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(GRACE);
        }
    }
}

fn bind(forward: &Forward) -> Result<TcpListener> {
    let listen = forward.listen;
    if !listen.ip().is_loopback() {
        tracing::warn!(%listen, hint = "listen on 127.0.0.1 unless others shall use it", "the forward is open to other machines");
    }
    let bound = TcpListener::bind(listen).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    bound.map_err(|error| {
        Problem::new(format!("forward on {listen}: {error}"))
            .hint("choose another port, or stop the program that has it")
    })
}

async fn serve(listener: TcpListener, forward: Forward, net: Net) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, listen = %forward.listen, "forward"),
    };
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let net = net.clone();
                tokio::spawn(async move {
                    if let Err(error) = relay(stream, forward, &net).await {
                        tracing::debug!(%error, to = %forward.to, "forwarded connection");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, listen = %forward.listen, "accepting");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn relay(mut local: TcpStream, forward: Forward, net: &Net) -> io::Result<()> {
    local.set_nodelay(true)?;
    let mut remote = match net.connect(forward.to).await {
        Ok(remote) => remote,
        Err(error) => {
            local.set_zero_linger()?;
            return Err(error.into());
        }
    };
    let copied = copy_bidirectional(&mut local, &mut remote).await;
    if copied.is_err() {
        local.set_zero_linger()?;
    }
    copied.map(drop)
}
