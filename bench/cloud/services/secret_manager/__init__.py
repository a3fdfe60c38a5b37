"""Secret Manager: secrets and versions."""
