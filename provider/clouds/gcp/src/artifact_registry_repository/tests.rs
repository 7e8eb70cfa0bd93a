use super::*;

#[test]
fn tags_belong_to_images() {
    let told = |format: Format| {
        let repository =
            Repository { format: format.into(), immutable_tags: true.into(), ..Repository::default() };
        let mut diagnostics = Diagnostics::default();
        check(&repository, &mut diagnostics);
        diagnostics.0.len()
    };
    assert_eq!((told(Format::Docker), told(Format::Python)), (0, 1));
}

#[test]
fn a_number_of_versions_is_two_policies_and_back() {
    use cleanup::Cleanup;
    let planned = Repository { keep_last_versions: 20.into(), ..Repository::default() };
    let wanted = Cleanup::wanted(&planned);
    let mut policies = wanted.policies();
    assert_eq!((policies.len(), Cleanup::found(&policies)), (2, wanted));
    assert_eq!(wanted.count(), Some(20));

    // One of the two was removed by hand: neither ours as it should be, nor another's.
    policies.remove("warren-rest");
    assert_eq!((Cleanup::found(&policies), Cleanup::found(&policies).count()), (Cleanup::Changed, None));
    policies.remove("warren-keep");
    assert_eq!(Cleanup::found(&policies), Cleanup::wanted(&Repository::default()));
}
