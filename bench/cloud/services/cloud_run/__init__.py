"""Cloud Run: services and jobs."""
