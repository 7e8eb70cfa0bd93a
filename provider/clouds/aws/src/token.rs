//! Request tokens of create calls ([`warren_managed::retry::token`]).

use aws_sdk_ec2::operation::create_flow_logs::CreateFlowLogsInput;
use aws_sdk_ec2::operation::create_nat_gateway::CreateNatGatewayInput;
use aws_sdk_ec2::operation::create_network_interface::CreateNetworkInterfaceInput;
use aws_sdk_ec2::operation::create_route_table::CreateRouteTableInput;
use aws_sdk_ec2::operation::create_vpc_endpoint::CreateVpcEndpointInput;
use aws_sdk_ec2::operation::run_instances::RunInstancesInput;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::BeforeSerializationInterceptorContextMut;
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
        let input = context.input_mut();
        macro_rules! accepts {
            ($($input:ty),*) => {
                $(if let Some(input) = input.downcast_mut::<$input>() {
                    if let Some(token) = token(stringify!($input)) {
                        input.client_token = Some(token);
                    }
                })*
            };
        }
        accepts!(
            CreateFlowLogsInput,
            CreateNatGatewayInput,
            CreateNetworkInterfaceInput,
            CreateRouteTableInput,
            CreateVpcEndpointInput,
            RunInstancesInput
        );
        Ok(())
    }
}

/// The token of a call; `None` outside a create.
pub(crate) fn token(operation: &str) -> Option<String> {
    let digest = retry::token(operation)?;
    Some(digest.iter().fold("warren-".to_owned(), |text, byte| text + &format!("{byte:02x}")))
}
