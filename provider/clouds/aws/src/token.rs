//! Request tokens of create calls ([`warren_managed::retry::token`]).

use aws_sdk_ec2::operation::create_flow_logs::CreateFlowLogsInput;
use aws_sdk_ec2::operation::create_launch_template::CreateLaunchTemplateInput;
use aws_sdk_ec2::operation::create_launch_template_version::CreateLaunchTemplateVersionInput;
use aws_sdk_ec2::operation::create_nat_gateway::CreateNatGatewayInput;
use aws_sdk_ec2::operation::create_network_interface::CreateNetworkInterfaceInput;
use aws_sdk_ec2::operation::create_route_table::CreateRouteTableInput;
use aws_sdk_ec2::operation::create_volume::CreateVolumeInput;
use aws_sdk_ec2::operation::create_vpc_endpoint::CreateVpcEndpointInput;
use aws_sdk_ec2::operation::run_instances::RunInstancesInput;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeSerializationInterceptorContextMut, Input,
};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;
use warren_managed::retry;

/// Sets the token of every call that accepts one (`ClientToken` in botocore's model of EC2), so that neither the SDK nor
/// the provider makes a second object by repeating it. Tokens have up to 64 characters.
#[derive(Debug)]
pub(crate) struct RequestTokens;

impl Intercept for RequestTokens {
    fn name(&self) -> &'static str {
        "RequestTokens"
    }

    fn modify_before_serialization(
        &self,
        context: &mut BeforeSerializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        set(context.input_mut());
        Ok(())
    }
}

macro_rules! accepts {
    ($($input:ident),*) => {
        /// Sets the token of a call that accepts one.
        fn set(input: &mut Input) {
            $(if let Some(input) = input.downcast_mut::<$input>() {
                if let Some(token) = token(stringify!($input)) {
                    input.client_token = Some(token);
                }
            })*
        }

        /// The requests with a token.
        #[cfg(test)]
        const ACCEPTING: &[&str] = &[$(stringify!($input)),*];
    };
}

accepts!(
    CreateFlowLogsInput,
    CreateLaunchTemplateInput,
    CreateLaunchTemplateVersionInput,
    CreateNatGatewayInput,
    CreateNetworkInterfaceInput,
    CreateRouteTableInput,
    CreateVolumeInput,
    CreateVpcEndpointInput,
    RunInstancesInput
);

/// The token of a call; `None` outside a create.
pub(crate) fn token(operation: &str) -> Option<String> {
    let digest = retry::token(operation)?;
    Some(digest.iter().fold("warren-".to_owned(), |text, byte| text + &format!("{byte:02x}")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use serde_json::Value;
    use warren_harness::{Models, Service, Venv, workspace_root};

    use super::*;

    /// The operations of EC2 that the provider may call are those of the policy in docs/iam, which is compared with the calls
    /// of every example.
    #[test]
    fn every_call_that_accepts_a_token_has_one() {
        let models = Models::load(&Venv::ensure().unwrap()).unwrap();
        let policy = fs::read(workspace_root().join("docs/iam/aws-policy.json")).unwrap();
        let policy: Value = serde_json::from_slice(&policy).unwrap();
        let mut accepting = BTreeSet::new();
        for statement in policy["Statement"].as_array().unwrap() {
            let listed = &statement["Action"];
            let actions = listed.as_array().map_or(std::slice::from_ref(listed), Vec::as_slice);
            let actions = actions.iter().filter_map(|action| action.as_str()?.strip_prefix("ec2:"));
            accepting.extend(actions.filter(|action| models.accepts_token(Service::Ec2, action)));
        }
        let ours = ACCEPTING.iter().filter_map(|input| input.strip_suffix("Input")).collect();
        assert_eq!(accepting, ours);
        assert!(accepting.contains("CreateVolume"));
    }
}
