use tf_provider_rs::Attr;

use super::*;
use crate::secret::Secret;

#[test]
fn a_secret_without_a_text_is_to_be_written() {
    let mut before = GatewayConfig::default();
    before.file.content = "fabric = \"a\"".into();
    before.file.version = 1.into();
    let state = api::state(Secret::default(), None, &before);
    assert_eq!((&state.file.content, state.file.version), (&Attr::Null, Attr::Null));
    assert!(!before.is_stored(&state));
}
