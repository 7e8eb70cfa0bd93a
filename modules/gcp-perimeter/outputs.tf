output "perimeter_id" {
  description = "ID of the perimeter."
  value       = warren_gcp_service_perimeter.main.id
}
