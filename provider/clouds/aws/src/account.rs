//! The configured account: its clients, and the tags of its objects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use aws_config::{Region, SdkConfig};
use aws_sdk_ec2::types::{Filter, Tag};
use tf_provider_rs::{Attr, Diagnostic, Diagnostics, Path};
use tokio::sync::OnceCell;
use warren_guard::S3Options;
use warren_managed::{Place, Scope, retry, sets};
use warren_wire::partition;

use crate::client::{self, Credentials};
use crate::config::AwsConfig;
use crate::error::{ApiError, Named, OrMissing};
use crate::ids::AccountId;
use crate::live::{self, LiveRanges};
use crate::partition::Partition;
use crate::region::RegionName;
use crate::tags::{self, FABRIC, Ignored, NAME, OWNER, SHOWN, TagMap, Tags};

/// The configured account in one region.
#[derive(Clone)]
pub struct Aws {
    /// The fabric and owner of the objects.
    pub scope: Scope,
    /// Tags of every object.
    pub default_tags: BTreeMap<String, String>,
    /// Tags that other tools manage.
    pub(crate) ignored: Ignored,
    /// VPCs, prefix lists and route tables that the check against live ranges ignores.
    pub ignore_live: BTreeSet<String>,
    /// What the check reads besides VPCs and subnets.
    pub live_ranges: BTreeSet<LiveRanges>,
    /// Further regions that it reads.
    pub live_regions: BTreeSet<RegionName>,
    /// Such as `us-east-1`.
    pub region: String,
    ec2: aws_sdk_ec2::Client,
    sdk: SdkConfig,
    ca_bundle: Option<PathBuf>,
    /// The account of the credentials, once AWS has named it.
    account: Arc<OnceCell<String>>,
}

impl Aws {
    /// Connects to the account of a provider block.
    ///
    /// # Errors
    /// No region is configured, or the credentials belong to an account that is not allowed.
    pub(crate) async fn new(config: &AwsConfig, scope: Scope) -> Result<Aws, Diagnostics> {
        let (sdk, settings) = client::load(config).await?;
        let Some(region) = sdk.region().map(ToString::to_string) else {
            return Err(Diagnostic::error(
                "No AWS region configured",
                "The provider block, AWS_REGION and the profile do not set a region. Set `aws = { region \
                 = \"us-east-1\" }`.",
            )
            .at(Path::of("aws").attribute("region"))
            .into());
        };
        let aws = Aws {
            scope,
            default_tags: tags::known(&config.default_tags),
            ignored: Ignored::new(&config.ignore_tags),
            ignore_live: sets::known(&config.ignore_live).iter().map(ToString::to_string).collect(),
            live_ranges: sets::all_known(&config.live_ranges)
                .filter(|_| config.live_ranges.is_known())
                .unwrap_or_else(|| live::ALL.into()),
            live_regions: sets::known(&config.live_regions),
            region,
            ec2: client::client!(aws_sdk_ec2, &sdk),
            sdk,
            ca_bundle: settings.ca_bundle(config),
            account: Arc::default(),
        };
        let allowed = sets::known(&config.allowed_account_ids);
        if !allowed.is_empty() {
            let account = aws.account().await?;
            if !allowed.iter().any(|id| **id == account) {
                return Err(wrong_account(&account, &allowed).into());
            }
        }
        Ok(aws)
    }

    /// The same account in another region: other endpoints, with the same credentials.
    pub(crate) fn in_region(&self, region: &str) -> Aws {
        let sdk = self.sdk.to_builder().region(Region::new(region.to_owned())).build();
        Aws { region: region.to_owned(), ec2: client::client!(aws_sdk_ec2, &sdk), sdk, ..self.clone() }
    }

    /// The same account over another connection.
    #[cfg(test)]
    pub(crate) fn through(
        &self,
        client: aws_smithy_runtime_api::client::http::SharedHttpClient,
        credentials: aws_credential_types::provider::SharedCredentialsProvider,
    ) -> Aws {
        let sdk = self.sdk.to_builder().http_client(client).credentials_provider(credentials).build();
        Aws { ec2: client::client!(aws_sdk_ec2, &sdk), sdk, ..self.clone() }
    }

    /// The Amazon Resource Name of an EC2 object; `resource` has the form `vpc/vpc-1`.
    pub fn arn(&self, account: &str, resource: &str) -> String {
        format!("arn:{}:ec2:{}:{account}:{resource}", self.partition(), self.region)
    }

    /// The Amazon Resource Name of a parameter, whose name begins with a slash.
    pub fn parameter_arn(&self, (region, account): (&str, &str), name: &str) -> String {
        format!("arn:{}:ssm:{region}:{account}:parameter{name}", self.partition())
    }

    /// The Amazon Resource Name of a hosted zone, which is in no region and names no account.
    pub fn zone_arn(&self, id: &str) -> String {
        format!("arn:{}:route53:::hostedzone/{id}", self.partition())
    }

    pub(crate) fn partition(&self) -> &'static str {
        Partition::of(&self.region).name
    }

    /// The EC2 client.
    pub fn ec2(&self) -> &aws_sdk_ec2::Client {
        &self.ec2
    }

    /// A client of the parameter store.
    pub fn ssm(&self) -> aws_sdk_ssm::Client {
        client::client!(aws_sdk_ssm, &self.sdk)
    }

    /// A client of identity and access management.
    pub fn iam(&self) -> aws_sdk_iam::Client {
        client::client!(aws_sdk_iam, &self.sdk)
    }

    /// A client of EC2 Auto Scaling.
    pub fn autoscaling(&self) -> aws_sdk_autoscaling::Client {
        client::client!(aws_sdk_autoscaling, &self.sdk)
    }

    /// A client of the container registry.
    pub fn ecr(&self) -> aws_sdk_ecr::Client {
        client::client!(aws_sdk_ecr, &self.sdk)
    }

    /// A client of Route 53.
    pub fn route53(&self) -> aws_sdk_route53::Client {
        client::client!(aws_sdk_route53, &self.sdk)
    }

    /// A client of the Route 53 Resolver.
    pub fn resolver(&self) -> aws_sdk_route53resolver::Client {
        client::client!(aws_sdk_route53resolver, &self.sdk)
    }

    /// The ID of the account of the credentials, 12 digits. No permission is needed to read it. A failure is not
    /// remembered: credentials may come late, and the call may be throttled.
    ///
    /// # Errors
    /// The error that AWS returns.
    pub async fn account(&self) -> Result<String, Diagnostics> {
        let ask = async || -> Result<String, Diagnostics> {
            let sts = client::client!(aws_sdk_sts, &self.sdk);
            let caller = sts.get_caller_identity().send().await.named("GetCallerIdentity")?;
            Ok(caller.account.or_missing("GetCallerIdentity", "Account")?)
        };
        self.account.get_or_try_init(ask).await.cloned()
    }

    /// The region, and the account if it is known.
    pub(crate) fn place(&self) -> Place {
        let account = self.account.get().map(|account| ("account_id", account.clone()));
        [("region", self.region.clone())].into_iter().chain(account).collect()
    }

    /// Options for claims in S3: the credentials, region and endpoint of the account.
    ///
    /// The client of S3 knows neither other partitions nor FIPS and dual-stack endpoints.
    pub(crate) fn s3_options(&self) -> S3Options {
        let domain = partition::domain(&self.region);
        let fips = if self.sdk.use_fips() == Some(true) { "-fips" } else { "" };
        let dual = if self.sdk.use_dual_stack() == Some(true) { ".dualstack" } else { "" };
        let special = domain != partition::COMMERCIAL || !fips.is_empty() || !dual.is_empty();
        let of_partition = special.then(|| format!("https://s3{fips}{dual}.{}.{domain}", self.region));
        let configured = std::env::var("AWS_ENDPOINT_URL_S3").ok().filter(|url| !url.is_empty());
        let endpoint = configured.or_else(|| self.sdk.endpoint_url().map(str::to_owned)).or(of_partition);
        S3Options {
            allow_http: endpoint.as_ref().is_some_and(|url| url.starts_with("http://")),
            endpoint,
            region: Some(self.region.clone()),
            ca_bundle: self.ca_bundle.clone(),
            credentials: self.sdk.credentials_provider().map(|provider| Credentials::shared(&provider)),
        }
    }
}

/// The tags of objects.
impl Aws {
    /// All tags of the object `name` with the user's `tags`.
    pub(crate) fn tags(&self, name: &str, tags: &TagMap) -> Tags {
        let mut all = Tags::from([(SHOWN.to_owned(), name.to_owned())]);
        all.extend(self.default_tags.clone());
        all.extend(tags::known(tags));
        all.extend([
            (FABRIC.to_owned(), self.scope.fabric.clone()),
            (OWNER.to_owned(), self.scope.owner.clone()),
            (NAME.to_owned(), name.to_owned()),
        ]);
        all
    }

    /// Filters of describe calls that find the objects of this fabric and owner called `name`.
    pub(crate) fn filters(&self, name: &str) -> Vec<Filter> {
        vec![
            tags::filter(&format!("tag:{FABRIC}"), &self.scope.fabric),
            tags::filter(&format!("tag:{OWNER}"), &self.scope.owner),
            tags::filter(&format!("tag:{NAME}"), name),
        ]
    }

    /// The beginning of the request tokens of the creates of an object. Where no filter for tags exists, or a create
    /// takes none, it shows whose object it is.
    pub(crate) fn mark(&self, name: &str) -> String {
        let digest = retry::digest(&[&self.scope.fabric, &self.scope.owner, name]);
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("warren-{digest}-")
    }

    /// The reference of a create, which is its request token after the mark. AWS accepts it for one object only.
    pub(crate) fn reference(&self, name: &str) -> String {
        let token = retry::token("reference").unwrap_or_else(rand::random);
        token.iter().fold(self.mark(name), |text, byte| text + &format!("{byte:02x}"))
    }

    /// Whether the tags belong to an object of this fabric and owner named `name`.
    pub(crate) fn owns(&self, tags: &Tags, name: &str) -> bool {
        tags::scope(tags) == (Some(self.scope.fabric.clone()), Some(self.scope.owner.clone()))
            && tags.get(NAME).is_some_and(|tag| tag == name)
    }

    /// The tags of an object that belong in the `tags` attribute. `before` is the last value of that
    /// attribute: a tag that equals a default tag counts only if it is in there.
    pub(crate) fn user_tags(&self, all: &Tags, before: &TagMap) -> TagMap {
        let was = tags::known(before);
        let name = all.get(NAME);
        let user: BTreeMap<String, Attr<String>> = all
            .iter()
            .filter(|(key, value)| {
                let ours = [FABRIC, OWNER, NAME].contains(&key.as_str()) || key.starts_with("aws:");
                let others = self.ignored.contains(key) && !was.contains_key(*key);
                let by_default = self.default_tags.contains_key(*key)
                    || (key.as_str() == SHOWN && (name == Some(*value) || name.is_none()));
                !ours && !others && (was.contains_key(*key) || !by_default)
            })
            .map(|(key, value)| (key.clone(), Attr::Known(value.clone())))
            .collect();
        if user.is_empty() && !before.is_known() { Attr::Null } else { Attr::Known(user) }
    }

    /// The tags to set and to remove. Tags that AWS or other tools manage stay.
    pub(crate) fn difference(&self, have: &Tags, want: &Tags) -> (Tags, BTreeSet<String>) {
        let (set, mut unset) = tags::difference(have, want);
        unset.retain(|key| !self.ignored.contains(key));
        (set, unset)
    }

    /// The attribute `tags_all` of an object with these tags: without those of other tools, unless the configuration
    /// sets them.
    pub(crate) fn shown_tags(&self, all: &Tags, before: &TagMap) -> TagMap {
        let set = tags::known(before);
        let keep = |key: &str| {
            !self.ignored.contains(key) || set.contains_key(key) || self.default_tags.contains_key(key)
        };
        tags::all(&all.iter().filter(|(key, _)| keep(key)).map(|(k, v)| (k.clone(), v.clone())).collect())
    }

    /// Reconciles the tags of `id`.
    pub(crate) async fn retag(&self, id: &str, have: &Tags, want: &Tags) -> Result<(), ApiError> {
        let (set, unset) = self.difference(have, want);
        if !set.is_empty() {
            let call = self.ec2().create_tags().resources(id).set_tags(Some(tags::to_sdk(&set)));
            call.send().await.named("CreateTags")?;
        }
        if !unset.is_empty() {
            let gone = unset.iter().map(|key| Tag::builder().key(key).build()).collect();
            self.ec2().delete_tags().resources(id).set_tags(Some(gone)).send().await.named("DeleteTags")?;
        }
        Ok(())
    }
}

fn wrong_account(account: &str, allowed: &BTreeSet<AccountId>) -> Diagnostic {
    let allowed = allowed.iter().map(|id| &**id).collect::<Vec<_>>().join(", ");
    Diagnostic::error(
        "AWS account not allowed",
        format!(
            "The credentials belong to account {account}, but `allowed_account_ids` allows only \
             {allowed}. Nothing was changed. Use other credentials (AWS_PROFILE, `aws.profile`), or add \
             the account to `allowed_account_ids`."
        ),
    )
    .at(Path::of("aws").attribute("allowed_account_ids"))
}

#[cfg(test)]
mod late;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The `aws` attribute of a provider block with default tags.
    pub(crate) fn config<const N: usize>(tags: [(&str, &str); N]) -> AwsConfig {
        AwsConfig {
            region: "us-east-1".into(),
            default_tags: Attr::Known(tags.map(|(key, value)| (key.to_owned(), value.into())).into()),
            ..AwsConfig::default()
        }
    }

    /// The fabric and owner of tests.
    pub(crate) fn scope() -> Scope {
        Scope { fabric: "training".into(), owner: "platform".into() }
    }

    /// An account that is never called.
    pub(crate) async fn account<const N: usize>(tags: [(&str, &str); N]) -> Aws {
        Aws::new(&config(tags), scope()).await.unwrap()
    }

    #[test]
    fn another_account_is_named() {
        let diagnostic = wrong_account("111111111111", &BTreeSet::from(["222222222222".parse().unwrap()]));
        insta::assert_snapshot!(format!("{}\n{}", diagnostic.summary, diagnostic.detail));
    }

    /// The endpoints are those of S3 in botocore's `data/partitions.json` and its endpoint rules.
    #[tokio::test]
    async fn claims_use_the_endpoint_of_the_settings() {
        for (region, fips, dual, expected) in [
            ("us-east-1", false, false, None),
            ("cn-north-1", false, false, Some("https://s3.cn-north-1.amazonaws.com.cn")),
            ("us-gov-west-1", true, false, Some("https://s3-fips.us-gov-west-1.amazonaws.com")),
            ("eu-west-1", false, true, Some("https://s3.dualstack.eu-west-1.amazonaws.com")),
            ("us-east-1", true, true, Some("https://s3-fips.dualstack.us-east-1.amazonaws.com")),
        ] {
            let config = AwsConfig {
                region: region.into(),
                use_fips_endpoint: fips.into(),
                use_dualstack_endpoint: dual.into(),
                ..config([])
            };
            let aws = Aws::new(&config, scope()).await.unwrap();
            assert_eq!(aws.s3_options().endpoint.as_deref(), expected, "{region} {fips} {dual}");
        }
    }

    /// EKS, Karpenter and cost tools tag the VPCs and subnets of others.
    #[tokio::test]
    async fn tags_of_other_tools_are_neither_shown_nor_removed() {
        let ignore = crate::config::IgnoreTags {
            keys: sets::of(["kubernetes.io/role/elb".to_owned()]),
            key_prefixes: sets::of(["kubernetes.io/cluster/".to_owned(), "karpenter.sh/".to_owned()]),
        };
        let config = AwsConfig { ignore_tags: Attr::Known(ignore), ..config([("team", "ml")]) };
        let aws = Aws::new(&config, scope()).await.unwrap();
        let mut found = aws.tags("hub", &Attr::Null);
        let ours = found.clone();
        for key in ["kubernetes.io/role/elb", "kubernetes.io/cluster/prod", "karpenter.sh/discovery"] {
            found.insert(key.into(), "1".into());
        }
        assert_eq!(aws.difference(&found, &ours), (Tags::new(), BTreeSet::new()));
        assert_eq!(aws.user_tags(&found, &Attr::Null), Attr::Null);
        assert_eq!(aws.shown_tags(&found, &Attr::Null), tags::all(&ours));
        found.insert("kubernetes.io/role/internal-elb".into(), "1".into());
        let removed = aws.difference(&found, &ours).1;
        assert_eq!(removed, BTreeSet::from(["kubernetes.io/role/internal-elb".to_owned()]));
        // A tag that the configuration sets is shown, even if the provider block ignores it.
        let wrote = Attr::Known(BTreeMap::from([("karpenter.sh/discovery".to_owned(), Attr::from("1"))]));
        assert_eq!(aws.user_tags(&aws.tags("hub", &wrote), &wrote), wrote);
        assert_eq!(aws.shown_tags(&aws.tags("hub", &wrote), &wrote), tags::all(&aws.tags("hub", &wrote)));
    }

    #[tokio::test]
    async fn the_users_tags_are_told_from_the_providers() {
        let aws = account([("team", "ml")]).await;
        let wrote = Attr::Known(BTreeMap::from([("env".to_owned(), Attr::from("prod"))]));
        let all = aws.tags("hub", &wrote);
        insta::assert_json_snapshot!(all);
        assert_eq!(aws.user_tags(&all, &wrote), wrote);
        assert_eq!(aws.user_tags(&aws.tags("hub", &Attr::Null), &Attr::Null), Attr::Null);
        let mut drifted = all;
        drifted.insert("by-hand".into(), "1".into());
        drifted.remove("env");
        let expected = Attr::Known(BTreeMap::from([("by-hand".to_owned(), Attr::from("1"))]));
        assert_eq!(aws.user_tags(&drifted, &wrote), expected);
    }
}
