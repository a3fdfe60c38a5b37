"""Cloud Logging: entries."""
