"""The embedded engine's Kubernetes provider: manifests by server-side apply, and Helm releases as records.

Owns what the official provider does for the objects that the program declares, so that a state written by one is
understood by the other. Knows nothing of the local cloud but that a cluster of it says so in its version.

Where it parts from the official provider, on purpose:
- Unknown fields are refused on the first create too; the official one lets the API server drop them.
- An object that stands already is refused in the preview, where the cluster is reachable.
- The data of a ConfigMap are always updated in place (`enableConfigMapMutable`).
- Field managers follow from the URN, not from chance. Names are given, never made up, and no object is patched in part.
- Nothing is awaited. On a cluster of the local cloud, which has no controllers, a Helm release is recorded only.
"""

from bench.providers.kubernetes.provider import KubernetesProvider

__all__ = ["KubernetesProvider"]
