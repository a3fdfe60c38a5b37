"""IAM: service accounts, custom roles, and workload identity pools."""
