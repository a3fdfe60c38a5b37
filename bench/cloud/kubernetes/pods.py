"""What a pod has beside its object: the lines that it printed, as people and tests say them."""

from __future__ import annotations

from typing import Any, Final

from bench.cloud.cloud import Cloud
from bench.cloud.kubernetes.verbs import KubernetesCall
from bench.cloud.wire import Reply

JsonObject = dict[str, Any]

_KIND: Final = "kubernetes.log"


def say(cloud: Cloud, cluster: str, namespace: str, pod: str, text: str) -> None:
    """Add to what a pod has printed."""
    name = f"{cluster}/{namespace}/{pod}"
    found = cloud.store.find(_KIND, name)
    cloud.store.put(_KIND, name, {"text": (found.body["text"] if found else "") + text}, now=cloud.now)


def forget(cloud: Cloud, cluster: str) -> None:
    """Nothing of what the pods of a cluster printed is left."""
    for found in list(cloud.store.each(_KIND, f"{cluster}/")):
        cloud.store.delete(_KIND, found.name)


def log(call: KubernetesCall) -> Reply:
    """Raises 404."""
    call.live()
    found = call.cloud.store.find(_KIND, f"{call.keyspace.cluster}/{call.namespace}/{call.name}")
    lines = (found.body["text"] if found else "").splitlines(keepends=True)
    if (tail := call.number("tailLines")) is not None:
        lines = lines[-tail:] if tail else []
    return Reply(200, "".join(lines).encode(), {"content-type": "text/plain"})
