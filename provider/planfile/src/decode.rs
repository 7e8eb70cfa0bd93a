//! Bytes of a file to text.

use crate::InputError;

/// The text of a file: UTF-8, or UTF-16 as PowerShell's `>` writes it, with or without a byte order mark.
///
/// # Errors
/// The bytes are not text. The error names what they are, if they are something that Terraform writes.
pub fn decode(file: &str, bytes: Vec<u8>) -> Result<String, InputError> {
    let error = |message: String, hint: Option<String>| InputError {
        file: file.to_owned(),
        at: None,
        path: String::new(),
        message,
        hint,
    };
    if is_saved_plan(&bytes) {
        return Err(error(
            "this is a saved plan, not JSON".to_owned(),
            Some(format!(
                "convert it with `terraform show -json {} > plan.json`",
                if file == "-" { "PLANFILE" } else { file }
            )),
        ));
    }
    if bytes.starts_with(b"tfplan") {
        return Err(error(
            "this is a saved plan of Terraform 0.11 or older, which has no JSON form".to_owned(),
            Some("create the plan with Terraform 0.12 or later".to_owned()),
        ));
    }
    if bytes.starts_with(b"\x1f\x8b") {
        return Err(error(
            "the file is compressed".to_owned(),
            Some(format!("decompress it with `gunzip --stdout {file}`")),
        ));
    }
    let wide = |read: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| read([pair[0], pair[1]])).collect();
        String::from_utf16(&units).ok().filter(|_| bytes.len().is_multiple_of(2))
    };
    // Without a mark, the zero half of the first character shows the order.
    let text = match bytes.as_slice() {
        [0xff, 0xfe, ..] | [1..=0x7f, 0, ..] => wide(u16::from_le_bytes),
        [0xfe, 0xff, ..] | [0, 1..=0x7f, ..] => wide(u16::from_be_bytes),
        _ => {
            return String::from_utf8(bytes).map_err(|invalid| {
                let valid = &invalid.as_bytes()[..invalid.utf8_error().valid_up_to()];
                let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
                let hint = "save the file as UTF-8".to_owned();
                error(format!("line {line} is not UTF-8 text"), Some(hint))
            });
        }
    };
    text.ok_or_else(|| error("the file is not valid UTF-16 text".to_owned(), None))
}

/// Whether the bytes are a plan that `terraform plan -out` saved: a zip archive, or the reference to a run of HCP Terraform.
pub fn is_saved_plan(bytes: &[u8]) -> bool {
    let reference = br#"{"remote_plan_format":"#;
    let start = bytes.iter().take(200).filter(|byte| !byte.is_ascii_whitespace());
    bytes.starts_with(b"PK\x03\x04") || start.take(reference.len()).eq(reference)
}
