//! Real servers behind the endpoints of the clouds: TLS under the services' own names, an OCI registry that stores its layers in
//! S3, and an emulator of Google Storage.
//!
//! ```no_run
//! # use warren_dataplane::lab::Lab;
//! use warren_dataplane::servers::{Authority, Site};
//!
//! # let (lab, emulated_s3) = (Lab::new()?, "127.0.0.1:5000".parse()?);
//! # let endpoint = lab.node("s3")?;
//! let authority = Authority::new()?;
//! let names = ["s3.us-east-1.amazonaws.com", "*.s3.us-east-1.amazonaws.com"];
//! lab.serve_tls(&endpoint, &["10.0.1.5".parse()?], &authority, &[Site::new(&names, emulated_s3)])?;
//! # anyhow::Ok(())
//! ```

mod authority;
mod child;
mod curl;
mod head;
mod image;
mod pull;
mod registry;
mod s3;
mod storage;
mod tls;

pub use authority::Authority;
pub(crate) use curl::curl;
pub use image::Image;
pub use pull::pull;
pub use registry::{LAYERS, Registry};
pub(crate) use s3::put_policy;
pub use s3::{SIGNED, put_object};
pub use storage::Storage;
pub use tls::Site;
