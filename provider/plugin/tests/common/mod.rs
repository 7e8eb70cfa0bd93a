//! What the tests share: the example providers as programs.

use std::path::PathBuf;

/// The example `name`, built beside the tests (`cargo test` builds examples too).
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test knows its own path");
    let folder = test.ancestors().nth(2).expect("tests are built in a folder of the target folder");
    let path = folder.join("examples").join(name);
    assert!(path.is_file(), "{} is missing: run `cargo build -p tf-provider-rs --examples`", path.display());
    path
}
