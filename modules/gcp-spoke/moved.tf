# Earlier versions declared the objects of the network in this module.

moved {
  from = warren_gcp_network.spoke
  to   = module.network.warren_gcp_network.main
}

moved {
  from = warren_gcp_subnetwork.private
  to   = module.network.warren_gcp_subnetwork.private
}

moved {
  from = warren_gcp_route.google_apis
  to   = module.network.warren_gcp_route.google_apis
}

moved {
  from = warren_gcp_route.internet
  to   = module.network.warren_gcp_route.internet
}

moved {
  from = warren_gcp_router_nat.spoke
  to   = module.network.warren_gcp_router_nat.main
}

moved {
  from = warren_gcp_private_service_connect.google_apis
  to   = module.network.warren_gcp_private_service_connect.google_apis
}

moved {
  from = warren_gcp_firewall.deny_ingress
  to   = module.network.warren_gcp_firewall.deny_ingress
}

moved {
  from = warren_gcp_firewall.deny_egress
  to   = module.network.warren_gcp_firewall.deny_egress
}

moved {
  from = warren_gcp_firewall.allow_internal
  to   = module.network.warren_gcp_firewall.allow_internal
}

moved {
  from = warren_gcp_firewall.allow_egress_internal
  to   = module.network.warren_gcp_firewall.allow_egress_internal
}

moved {
  from = warren_gcp_firewall.allow_egress_web
  to   = module.network.warren_gcp_firewall.allow_egress_web
}
