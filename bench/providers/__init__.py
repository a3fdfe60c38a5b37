"""The embedded engine's providers: Google Cloud and Kubernetes. They do not know the local cloud."""
