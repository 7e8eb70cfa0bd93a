output "perimeter_id" {
  description = "Id of the perimeter."
  value       = warren_gcp_service_perimeter.main.id
}
