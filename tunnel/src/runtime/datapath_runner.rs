//! The data path as the control thread sees it.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
};

use warren_proto::plane::{Peer, Plane};
use warren_transport::{tls::Streams, udp::Udp};

use crate::runtime::{
    control::DatapathHandle,
    datapath::{
        Clock, Control, ControlReceiver, ControlSender, Datapath, DatapathConfig, Device, control_channel,
    },
    problem::{Context, Problem, Result},
};

/// Handshake messages that may queue for the control thread: 20 ms of a flood of 50,000 per second.
const WAITING: usize = 1024;

/// A running data path and its queue to the control thread.
pub(crate) struct DatapathRunner {
    datapath: Option<Datapath>,
    plane: Arc<Plane>,
    udp: Arc<Udp>,
    streams: Arc<Streams>,
    sender: ControlSender,
    receiver: ControlReceiver,
    mtu: usize,
}

impl DatapathRunner {
    /// Starts the data path.
    ///
    /// # Errors
    /// When its threads cannot be started.
    pub(crate) fn start(plane: Arc<Plane>, device: Device, udp: Arc<Udp>, mtu: usize) -> Result<Self> {
        let (sender, receiver) = control_channel(WAITING)
            .while_doing(|| "cannot create the queue to the control thread".into())?;
        let waker = sender.clone();
        let streams = Streams::new(|| Clock.mono(), Box::new(move || waker.wake()))
            .while_doing(|| "cannot start TLS".into())?;
        let mut runner = Self { datapath: None, plane, udp, streams, sender, receiver, mtu };
        runner.run(device).while_doing(|| "cannot start the data path".into())?;
        Ok(runner)
    }

    fn run(&mut self, device: Device) -> io::Result<()> {
        let config = DatapathConfig {
            plane: Arc::clone(&self.plane),
            device,
            udp: Arc::clone(&self.udp),
            streams: Arc::clone(&self.streams),
            control: self.sender.clone(),
            clock: Clock,
            mtu: self.mtu,
        };
        self.datapath = Some(Datapath::start(config)?);
        Ok(())
    }
}

impl DatapathHandle for DatapathRunner {
    fn next(&mut self) -> Option<Control> {
        self.receiver.next()
    }

    fn readable(&self) -> BorrowedFd<'_> {
        self.receiver.as_fd()
    }

    fn acknowledge(&mut self) {
        self.receiver.acknowledge();
    }

    fn flush(&self, peer: &Arc<Peer>) {
        if let Some(datapath) = &self.datapath {
            datapath.flush(peer);
        }
    }

    fn established(&self) {
        if let Some(datapath) = &self.datapath {
            datapath.established();
        }
    }

    fn udp(&self) -> &Arc<Udp> {
        &self.udp
    }

    fn streams(&self) -> &Arc<Streams> {
        &self.streams
    }

    /// Restarts the threads on the new socket, since they block in calls on the old one. The device stays, and with it the
    /// interface.
    fn rebind(&mut self, udp: Arc<Udp>) -> Result<()> {
        let device = self.datapath.take().and_then(Datapath::stop);
        let device =
            device.ok_or_else(|| Problem::new("the device is still in use").hint("restart the agent"))?;
        self.udp = udp;
        self.run(device).while_doing(|| "cannot restart the data path".into())
    }

    fn set_mtu(&mut self, mtu: usize) {
        self.mtu = mtu;
        if let Some(datapath) = &self.datapath {
            datapath.set_mtu(mtu);
        }
    }

    fn overrun(&self) -> u64 {
        self.sender.dropped()
    }

    fn failed(&self) -> u64 {
        self.datapath.as_ref().map_or(1, |datapath| datapath.stats().failed_threads)
    }

    fn stop(mut self: Box<Self>) {
        drop(self.datapath.take());
    }
}
