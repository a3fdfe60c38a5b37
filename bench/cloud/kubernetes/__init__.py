"""A plain Kubernetes API for the clusters of the local cloud: objects, schemas, patches, ownership and watches.

Importing this package registers what its control surface obeys. It has no controller and no scheduler: what a status
says is set by whoever uses the cloud, and by tests.
"""

from bench.cloud.kubernetes import commands

__all__ = ["commands"]
