resource "warren_gcp_network" "hub" {
  name = "acme-hub"
}

resource "warren_gcp_service_perimeter" "training" {
  access_policy = "123"
  name          = "training"
  title         = "Training"
  description   = "Training data stays inside"

  # Enforced.
  status = {
    resources               = ["projects/123456789012", "//compute.googleapis.com/${warren_gcp_network.hub.id}"]
    restricted_services     = ["artifactregistry.googleapis.com", "storage.googleapis.com"]
    access_levels           = ["accessPolicies/123/accessLevels/office"]
    vpc_accessible_services = ["RESTRICTED-SERVICES"]

    # CI pushes images from outside.
    ingress_policies = [{
      identities           = ["serviceAccount:runner@acme-ci.iam.gserviceaccount.com"]
      source_access_levels = ["*"]
      resources            = ["projects/123456789012"]
      operations           = [{ service_name = "artifactregistry.googleapis.com", methods = ["*"] }]
    }]

    # Training jobs read a public data set of another project.
    egress_policies = [{
      identity_type = "ANY_SERVICE_ACCOUNT"
      resources     = ["projects/210987654321"]
      operations    = [{ service_name = "storage.googleapis.com", methods = ["google.storage.objects.get"] }]
    }]
  }

  # A dry run of the next change: BigQuery is protected, too.
  spec = {
    resources           = ["projects/123456789012"]
    restricted_services = ["artifactregistry.googleapis.com", "bigquery.googleapis.com", "storage.googleapis.com"]

    # Queries of external tables read from an S3 bucket.
    egress_policies = [{
      identity_type      = "ANY_SERVICE_ACCOUNT"
      external_resources = ["s3://acme-datasets"]
      operations         = [{ service_name = "bigquery.googleapis.com", permissions = ["bigquery.tables.get"] }]
    }]
  }

  timeouts = {
    create = "45m"
    update = "45m"
    delete = "45m"
  }
}
