use tf_provider_rs::Attr;

#[test]
fn placeholder() {
    assert!(Attr::<String>::Null.is_null());
}
