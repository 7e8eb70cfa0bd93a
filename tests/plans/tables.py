"""Attributes of the resource types in the shapes, in the notation of `stub.parse`."""

AWS = {
    "provider": "region",
    "resources": {
        "aws_vpc": "arn* !cidr_block? ipv4_ipam_pool_id ipv6_cidr_block? assign_generated_ipv6_cidr_block:b"
        " enable_dns_hostnames:b enable_dns_support:b instance_tenancy default_route_table_id*"
        " default_security_group_id* main_route_table_id* owner_id* tags:m",
        "aws_vpc_ipv4_cidr_block_association": "!vpc_id !cidr_block",
        "aws_subnet": "arn* !vpc_id !cidr_block ipv6_cidr_block !availability_zone? availability_zone_id?"
        " map_public_ip_on_launch:b owner_id* tags:m",
        "aws_internet_gateway": "arn* vpc_id? tags:m",
        "aws_egress_only_internet_gateway": "!vpc_id tags:m",
        "aws_eip": "domain public_ip* tags:m",
        "aws_nat_gateway": "!subnet_id allocation_id connectivity_type tags:m",
        "aws_route_table": "arn* !vpc_id owner_id* tags:m route[cidr_block gateway_id nat_gateway_id transit_gateway_id]",
        "aws_default_route_table": "!default_route_table_id vpc_id* tags:m",
        "aws_route": "!route_table_id !destination_cidr_block destination_ipv6_cidr_block destination_prefix_list_id"
        " gateway_id nat_gateway_id transit_gateway_id vpc_peering_connection_id network_interface_id? origin* state*",
        "aws_route_table_association": "!subnet_id !route_table_id gateway_id",
        "aws_vpn_gateway": "vpc_id? amazon_side_asn? tags:m",
        "aws_customer_gateway": "bgp_asn ip_address type tags:m",
        "aws_vpn_connection": "customer_gateway_id vpn_gateway_id transit_gateway_id type static_routes_only:b"
        " transit_gateway_attachment_id* tunnel1_address* tunnel2_address* local_ipv4_network_cidr? remote_ipv4_network_cidr? tags:m",
        "aws_vpn_connection_route": "!destination_cidr_block !vpn_connection_id",
        "aws_ec2_transit_gateway": "arn* description association_default_route_table_id* tags:m",
        "aws_ec2_transit_gateway_vpc_attachment": "!transit_gateway_id !vpc_id subnet_ids:ss tags:m",
        "aws_ec2_transit_gateway_route_table": "!transit_gateway_id tags:m",
        "aws_ec2_transit_gateway_route": "!destination_cidr_block transit_gateway_attachment_id"
        " !transit_gateway_route_table_id blackhole:b",
        "aws_vpc_peering_connection": "!vpc_id !peer_vpc_id auto_accept:b tags:m",
        "aws_ec2_client_vpn_endpoint": "!client_cidr_block server_certificate_arn vpc_id? tags:m",
        "aws_ec2_client_vpn_network_association": "!client_vpn_endpoint_id !subnet_id vpc_id*",
        "aws_security_group": "arn* !vpc_id? name? description tags:m",
        "aws_lb": "arn* !name? !internal?:b !load_balancer_type subnets?:ss vpc_id* subnet_mapping[subnet_id allocation_id] tags:m",
        "aws_alb": "arn* !name? !internal?:b !load_balancer_type subnets?:ss vpc_id* subnet_mapping[subnet_id allocation_id] tags:m",
        "aws_elb": "arn* !name? !internal?:b subnets?:ss tags:m",
        "aws_vpc_endpoint": "!vpc_id service_name vpc_endpoint_type route_table_ids?:ss subnet_ids?:ss tags:m",
        "aws_eks_cluster": "arn* name role_arn vpc_config[subnet_ids:ss security_group_ids:ss vpc_id*]"
        " kubernetes_network_config[service_ipv4_cidr? ip_family? service_ipv6_cidr*]",
        "aws_eks_node_group": "arn* !cluster_name !node_group_name? node_role_arn subnet_ids:ss tags:m",
        "aws_eks_fargate_profile": "arn* !cluster_name !fargate_profile_name pod_execution_role_arn subnet_ids:ss tags:m",
    },
    "data": {
        "aws_vpc": "id? arn* cidr_block? default:b tags:m cidr_block_associations[cidr_block association_id state]",
        "aws_subnet": "id? vpc_id? cidr_block? tags:m",
        "aws_subnets": "id* ids*:ls tags:m",
        "aws_region": "id* name?",
    },
    "answers": {
        "aws_vpc": {
            "id": "vpc-shared",
            "arn": "arn:aws:ec2:eu-central-1:111122223333:vpc/vpc-shared",
            "cidr_block": "10.40.0.0/16",
        },
        "aws_subnet": {"id": "subnet-shared", "vpc_id": "vpc-shared", "cidr_block": "10.40.0.0/24"},
        "aws_region": {"id": "eu-central-1", "name": "eu-central-1"},
    },
}

GOOGLE = {
    "provider": "project region",
    "resources": {
        "google_compute_network": "self_link* !name !project? auto_create_subnetworks:b routing_mode?",
        "google_compute_subnetwork": "self_link* !name !network !project? region? ip_cidr_range purpose?"
        " secondary_ip_range[range_name ip_cidr_range]",
        "google_compute_global_address": "self_link* !name !address? !prefix_length?:n purpose !network address_type !project?",
        "google_service_networking_connection": "!network service reserved_peering_ranges:ls peering*",
        "google_compute_network_peering": "!name !network !peer_network state*",
        "google_vpc_access_connector": "self_link* !name !network? !ip_cidr_range region? !project? subnet[name project_id]",
        "google_redis_instance": "name memory_size_gb:n !authorized_network? !reserved_ip_range? connect_mode host* region?",
        "google_filestore_instance": "name tier networks[network reserved_ip_range? modes:ls ip_addresses*:ls connect_mode]",
        "google_sql_database_instance": "self_link* name database_version private_ip_address*"
        " settings[tier ip_configuration[ipv4_enabled:b private_network allocated_ip_range]]",
        "google_container_cluster": "self_link* name !network? !subnetwork? location cluster_ipv4_cidr?"
        " services_ipv4_cidr* ip_allocation_policy[cluster_ipv4_cidr_block? services_ipv4_cidr_block?"
        " cluster_secondary_range_name? services_secondary_range_name?]"
        " private_cluster_config[enable_private_nodes:b master_ipv4_cidr_block? private_endpoint_subnetwork]"
        " release_channel[channel]",
        "google_container_node_pool": "name? !cluster location? network_config[create_pod_range:b pod_range? subnetwork?"
        " additional_node_network_configs[network subnetwork] additional_pod_network_configs[subnetwork secondary_pod_range]]",
        "google_compute_router": "name !network region?",
        "google_compute_forwarding_rule": "self_link* !name !region? !load_balancing_scheme target backend_service"
        " !ip_protocol? ports:ss !ip_address? !network? !subnetwork?",
        "google_compute_global_forwarding_rule": "self_link* !name !load_balancing_scheme target !port_range !ip_address?"
        " !network? !subnetwork?",
        "google_compute_vpn_gateway": "self_link* !name !network !region?",
        "google_compute_ha_vpn_gateway": "self_link* !name !network !region? vpn_interfaces?:li",
        "google_compute_external_vpn_gateway": "self_link* !name redundancy_type interface[id:n ip_address]",
        "google_compute_vpn_tunnel": "self_link* !name !region? !vpn_gateway !target_vpn_gateway !peer_ip? !peer_external_gateway"
        " !peer_external_gateway_interface:n !peer_gcp_gateway",
        "google_compute_address": "self_link* !name !region? !address?",
    },
    # What Google adds to objects that exist, by type and name: `clusterIpv4Cidr`, `ipAllocationPolicy` and
    # `privateClusterConfig` of `projects.locations.clusters` in the Kubernetes Engine API, and the secondary ranges that
    # clusters create in their subnetwork. Blocks are merged in order.
    "reports": {
        "google_container_cluster": {
            "named": {
                "cluster_ipv4_cidr": "10.172.0.0/14",
                "services_ipv4_cidr": "10.171.0.0/20",
                "ip_allocation_policy": [
                    {"cluster_ipv4_cidr_block": "10.172.0.0/14", "services_ipv4_cidr_block": "10.171.0.0/20"}
                ],
                "private_cluster_config": [{"master_ipv4_cidr_block": "10.170.16.0/28"}],
            },
            "one": {
                "cluster_ipv4_cidr": "10.180.0.0/17",
                "services_ipv4_cidr": "34.118.224.0/20",
                "ip_allocation_policy": [
                    {"cluster_ipv4_cidr_block": "10.180.0.0/17", "services_ipv4_cidr_block": "34.118.224.0/20"}
                ],
            },
            "two": {
                "cluster_ipv4_cidr": "10.180.128.0/17",
                "services_ipv4_cidr": "34.118.224.0/20",
                "ip_allocation_policy": [
                    {"cluster_ipv4_cidr_block": "10.180.128.0/17", "services_ipv4_cidr_block": "34.118.224.0/20"}
                ],
            },
        },
        "google_compute_subnetwork": {
            "chosen": {
                "secondary_ip_range": [
                    {"range_name": "gke-one-pods-1a2b3c4d", "ip_cidr_range": "10.180.0.0/17"},
                    {"range_name": "gke-two-pods-5e6f7a8b", "ip_cidr_range": "10.180.128.0/17"},
                ]
            }
        },
    },
    "data": {
        "google_compute_network": "id* self_link* name project? subnetworks_self_links*:ls",
        "google_compute_subnetwork": "id* self_link* name? region? project? network* ip_cidr_range*",
    },
    "answers": {
        "google_compute_network": {
            "id": "projects/host/global/networks/shared",
            "self_link": "https://www.googleapis.com/compute/v1/projects/host/global/networks/shared",
        },
        "google_compute_subnetwork": {
            "id": "projects/host/regions/europe-west4/subnetworks/shared",
            "self_link": "https://www.googleapis.com/compute/v1/projects/host/regions/europe-west4/subnetworks/shared",
            "network": "https://www.googleapis.com/compute/v1/projects/host/global/networks/shared",
            "ip_cidr_range": "10.50.0.0/20",
        },
    },
}

AZURE = {
    "provider": "subscription_id features[]",
    "resources": {
        "azurerm_resource_group": "!name !location",
        "azurerm_virtual_network": "guid* !name !resource_group_name !location address_space?:ls tags:m"
        " subnet[name address_prefixes:ls id*]",
        "azurerm_subnet": "!name !resource_group_name !virtual_network_name address_prefixes:ls",
        "azurerm_public_ip": "!name !resource_group_name !location ip_address*",
        "azurerm_kubernetes_cluster": "!name !resource_group_name !location default_node_pool[name vnet_subnet_id]",
        "azurerm_kubernetes_cluster_node_pool": "!name !kubernetes_cluster_id vnet_subnet_id pod_subnet_id",
        "azurerm_lb": "!name !resource_group_name !location"
        " frontend_ip_configuration[name subnet_id? public_ip_address_id? private_ip_address?]",
        "azurerm_application_gateway": "!name !resource_group_name !location gateway_ip_configuration[name subnet_id]"
        " frontend_ip_configuration[name subnet_id public_ip_address_id? private_ip_address?]",
        "azurerm_virtual_network_peering": "!name !resource_group_name !virtual_network_name !remote_virtual_network_id",
    },
    "data": {
        "azurerm_virtual_network": "id* name resource_group_name address_space*:ls location*",
    },
    "answers": {
        "azurerm_virtual_network": {
            "id": "/subscriptions/0/resourceGroups/core/providers/Microsoft.Network/virtualNetworks/core",
            "address_space": ["10.40.0.0/15"],
            "location": "westeurope",
        },
    },
}

TABLES = {"aws": AWS, "google": GOOGLE, "azurerm": AZURE}
