"""Cloud Billing: whether a project has a billing account."""
