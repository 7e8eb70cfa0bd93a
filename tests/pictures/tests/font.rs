//! The table of advances is what the font says.

use std::path::Path;

#[test]
fn the_table_of_advances_is_that_of_the_font() {
    let made = warren_pictures::font::table().expect("the fonts of Debian");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../provider/diagram/src/advances.rs");
    if std::env::var_os("WARREN_BLESS").is_some() {
        std::fs::write(&path, &made).expect("the folder is there");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == made, "advances.rs differs; WARREN_BLESS=1 cargo test -p warren-pictures writes it");
}
