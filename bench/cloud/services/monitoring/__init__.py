"""Cloud Monitoring: alert policies and channels."""
