//! Compiles the protocol without `protoc`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let files = ["proto/tfplugin6.proto", "proto/plugin.proto", "proto/health.proto"];
    for file in files {
        println!("cargo::rerun-if-changed={file}");
    }
    let descriptors = protox::compile(files, ["proto"])?;
    // Ordered maps: the same provider must answer the same bytes every time.
    tonic_prost_build::configure().btree_map(".").compile_fds(descriptors)?;
    Ok(())
}
