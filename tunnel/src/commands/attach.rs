//! `warren-tunnel attach-volume`: attaches an EBS volume to this instance.
//!
//! An instance of an Auto Scaling group takes over the volume of the one that it replaces: a launch template can create
//! volumes, but not attach one.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::cloud::Environment;
use super::cloud::aws::{self, Caller};
use super::print;
use crate::cli::AttachArgs;
use crate::runtime::problem::{Context as _, Problem, Result};

/// Pause between attempts.
const PAUSE: Duration = Duration::from_secs(2);
/// The name under which the volume is attached. Nitro instances ignore it.
const DEVICE: &str = "/dev/sdf";
/// Where udev links the devices of volumes by their IDs.
const BY_ID: &str = "/dev/disk/by-id";

/// Runs the command: prints the device of the volume.
///
/// # Errors
/// The volume is not attached when the time is over.
pub fn run(args: &AttachArgs) -> Result<()> {
    let until = (args.give_up_after > 0).then(|| Instant::now() + Duration::from_secs(args.give_up_after));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .while_doing(|| "starting".to_owned())?;
    let places = places(&args.volume)?;
    let device = runtime.block_on(attach(&Environment::read(), &args.volume, &places, until, PAUSE))?;
    print(&format!("{}\n", device.display()))
}

/// The paths that the device can have.
fn places(volume: &str) -> Result<Vec<PathBuf>> {
    let id = volume.strip_prefix("vol-").filter(|id| id.bytes().all(|b| b.is_ascii_hexdigit()));
    let id = id.ok_or_else(|| {
        Problem::new(format!("{volume} is not the ID of a volume"))
            .hint("use an ID such as vol-0a1b2c3d4e5f60718")
    })?;
    // Nitro instances have the ID as the serial number (Amazon EC2 documentation, "Map NVMe EBS volumes to device
    // names"), Xen instances the device name, also as xvdf.
    let nitro = Path::new(BY_ID).join(format!("nvme-Amazon_Elastic_Block_Store_vol{id}"));
    Ok(vec![nitro, "/dev/xvdf".into(), DEVICE.into()])
}

async fn attach(
    environment: &Environment,
    volume: &str,
    places: &[PathBuf],
    until: Option<Instant>,
    pause: Duration,
) -> Result<PathBuf> {
    let mut attached = false;
    loop {
        if let Some(device) = places.iter().find(|place| place.exists()) {
            return Ok(device.clone());
        }
        let problem = if attached {
            Problem::new(format!("waiting for the device of {volume}"))
        } else {
            match request(environment, volume).await {
                Ok(()) => {
                    tracing::info!(volume, "attached");
                    attached = true;
                    continue;
                }
                Err(problem) => problem,
            }
        };
        if until.is_some_and(|until| Instant::now() + pause > until) {
            return Err(problem);
        }
        tracing::warn!(hint = problem.advice(), "{}; retrying in {} s", problem.what(), pause.as_secs());
        tokio::time::sleep(pause).await;
    }
}

/// Requests the attachment. A volume of an instance that is being terminated is refused with `VolumeInUse` until it is
/// free.
async fn request(environment: &Environment, volume: &str) -> Result<()> {
    let instance = aws::instance_id(environment).await?;
    let caller = Caller::new(environment, None, "ec2", environment.aws_ec2.as_deref()).await?;
    let body = format!(
        "Action=AttachVolume&Version=2016-11-15&VolumeId={volume}&InstanceId={instance}&Device=%2Fdev%2Fsdf"
    );
    let answer = caller.form(&body).await?;
    if answer.status.is_success() {
        return Ok(());
    }
    let text = answer.text();
    let within = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0)
    };
    let (code, message) = (within("Code").unwrap_or_default(), within("Message").unwrap_or_default());
    let hint = match code {
        "VolumeInUse" => "the instance that it is attached to must end first",
        "UnauthorizedOperation" => {
            "the instance's role must allow ec2:AttachVolume on the volume and on the instance"
        }
        "InvalidVolume.NotFound" => "apply again: the volume was deleted outside Terraform",
        _ => "check the status of the service and the route to it: a VPC endpoint for ec2, or the internet",
    };
    let status = answer.status.as_u16();
    Err(Problem::new(format!("AWS refused to attach {volume}: {status} {code}: {message}")).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::cloud::tests::{Asked, instance, serve};

    const VOLUME: &str = "vol-0a1b2c3d4e5f60718";

    fn run(environment: &Environment, device: &Path, until: Option<Instant>) -> Result<PathBuf> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let places = [device.to_owned()];
        runtime.block_on(attach(environment, VOLUME, &places, until, Duration::from_millis(5)))
    }

    fn refusal(code: &str, message: &str) -> (u16, String) {
        let error = format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>");
        (400, format!("<Response><Errors>{error}</Errors></Response>"))
    }

    #[test]
    fn it_waits_until_the_instance_before_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let device = folder.path().join("device");
        let (appears, mut refusals) = (device.clone(), 2);
        let address = serve(move |asked: &Asked| {
            assert!(asked.header("authorization").contains("/eu-west-1/ec2/aws4_request"));
            assert!(asked.body.contains("Action=AttachVolume") && asked.body.contains("InstanceId=i-2"));
            if refusals > 0 {
                refusals -= 1;
                return refusal("VolumeInUse", "vol-0a1b2c3d4e5f60718 is already attached to an instance");
            }
            let appears = appears.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(30));
                std::fs::write(appears, "").unwrap();
            });
            (200, "<AttachVolumeResponse><status>attaching</status></AttachVolumeResponse>".to_owned())
        });
        let environment = Environment { aws_ec2: Some(format!("http://{address}")), ..instance("i-2") };
        assert_eq!(run(&environment, &device, None).unwrap(), device);
        // At the next boot it is attached already, and no call is made.
        assert_eq!(run(&Environment::default(), &device, None).unwrap(), device);
    }

    #[test]
    fn a_refusal_has_a_hint() {
        let address =
            serve(|_| refusal("UnauthorizedOperation", "You are not authorized to perform this operation."));
        let environment = Environment { aws_ec2: Some(format!("http://{address}")), ..instance("i-2") };
        let folder = tempfile::tempdir().unwrap();
        let problem = run(&environment, &folder.path().join("none"), Some(Instant::now())).unwrap_err();
        insta::assert_snapshot!(problem);
        assert!(places("vol-1; reboot").is_err());
    }
}
