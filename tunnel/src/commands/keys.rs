//! `genkey`, `genpsk`, `pubkey`.

use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use warren_wire::key::{PresharedKey, PrivateKey};
use zeroize::Zeroizing;

use super::print;
use crate::runtime::{
    problem::{Context, Problem, Result},
    random,
};

/// `genkey`.
///
/// # Errors
/// When there is no randomness or the key cannot be written.
pub fn genkey(out: Option<&Path>) -> Result<()> {
    give(&PrivateKey::from_random(*random()?).to_base64(), out)
}

/// `genpsk`.
///
/// # Errors
/// When there is no randomness or the key cannot be written.
pub fn genpsk(out: Option<&Path>) -> Result<()> {
    give(&PresharedKey::from_bytes(*random()?).to_base64(), out)
}

/// `pubkey`.
///
/// # Errors
/// When standard input has no key.
pub fn pubkey() -> Result<()> {
    let mut text = Zeroizing::new(String::new());
    std::io::stdin()
        .take(4096)
        .read_to_string(&mut text)
        .while_doing(|| "cannot read standard input".into())?;
    print(&format!("{}\n", public_of(&text)?))
}

fn public_of(text: &str) -> Result<String> {
    let key = PrivateKey::from_base64(text.trim()).map_err(|error| {
        Problem::new(format!("standard input: {error}"))
            .hint("pass a private key, as in `warren-tunnel genkey | warren-tunnel pubkey`")
    })?;
    Ok(key.public().to_string())
}

fn give(key: &str, out: Option<&Path>) -> Result<()> {
    let line = Zeroizing::new(format!("{key}\n"));
    let Some(path) = out else { return print(&line) };
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(path).map_err(|error| {
        let problem = Problem::new(format!("{}: {error}", path.display()));
        match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                problem.hint("existing keys are not overwritten: remove the file, or choose another path")
            }
            _ => problem,
        }
    })?;
    file.write_all(line.as_bytes()).while_doing(|| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_in_a_file_is_its_owners_alone_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        genkey(Some(&path)).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(public_of(&text).unwrap().len(), 44);
        let error = genkey(Some(&path)).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        insta::assert_snapshot!(error.to_string().replace(folder.path().to_str().unwrap(), "DIR"));
    }

    #[test]
    fn the_public_key_is_the_one_that_wg_prints() {
        // As `wg pubkey` of wireguard-tools 1.0 answers.
        let private =
            PrivateKey::from_hex("77076d0a7318a57d3c16c17251b26645df4c2f92ebc0992ac177fba51db92c2a");
        let public = public_of(&private.unwrap().to_base64()).unwrap();
        assert_eq!(public, "+KlTWi0v9gXo4UTVT071xiMTogVduyH93T/ZwpnrAV0=");
        insta::assert_snapshot!(public_of("not a key\n").unwrap_err());
    }
}
