"""`./tidepool cloud k8s ...`: clusters of the local cloud, where people set the statuses that controllers would."""

from __future__ import annotations

from pathlib import Path

import click

from bench.operations import kubernetes as clusters
from infra.cli import options
from infra.cli.answers import Answer, answered
from infra.cli.echo import echo

_cluster = click.option(
    "--cluster", default="", metavar="NAME", help="Name of the cluster; not needed where there is one."
)
_namespace = click.option("--namespace", "-n", default="default", show_default=True, help="Namespace of the object.")


@click.group(cls=options.Group, name="k8s", short_help="Clusters: their kubeconfig, statuses, nodes and logs.")
def k8s() -> None:
    """Drive the Kubernetes clusters of the local cloud.

    They store objects and run nothing: they have no controller and no scheduler, so people set statuses, by `status`.
    """


@k8s.command(name="list")
@answered
def list_clusters() -> Answer:
    """List the clusters, each with the address of its API."""
    found = clusters.running_clusters().clusters()
    return {"clusters": found}, clusters.cluster_lines(found)


@k8s.command()
@click.argument("name", metavar="projects/P/locations/L/clusters/C")
@answered
def begin(*, name: str) -> Answer:
    """Serve a cluster without the GKE API; `end` forgets it."""
    made = clusters.running_clusters().begin_cluster(name)
    return made, f"{name} answers at https://{made['host']}"


@k8s.command()
@_cluster
@answered
def end(*, cluster: str) -> Answer:
    """Forget a cluster of `begin`, and all that is in it."""
    clusters.running_clusters().end_cluster(cluster)
    return {"ended": cluster}, "the cluster is gone"


@k8s.command()
@_cluster
def kubeconfig(*, cluster: str) -> None:
    """Print a kubeconfig for kubectl.

    \b
    ./tidepool cloud k8s kubeconfig > FILE
    KUBECONFIG=FILE kubectl get nodes
    """
    echo(clusters.as_yaml(clusters.config_of(cluster)))


@k8s.command()
@click.argument("kind")
@click.argument("name")
@click.option("--set", "sets", multiple=True, metavar="FIELD=VALUE", help="A field of the status; may be repeated.")
@click.option(
    "--condition", "conditions", multiple=True, metavar="TYPE=True|False",
    help="A condition of the status; may be repeated.",
)  # fmt: skip
@_namespace
@_cluster
@answered
def status(
    *, kind: str, name: str, sets: tuple[str, ...], conditions: tuple[str, ...], namespace: str, cluster: str
) -> Answer:
    """Set the status of an object, as its controller would.

    \b
    ./tidepool cloud k8s status jobset llama-8b -n pretraining --condition Completed=True
    ./tidepool cloud k8s status deploy curriculum -n rl --set readyReplicas=1 --set availableReplicas=1
    """
    said = clusters.say(kind, name, cluster, namespace, sets, conditions)
    shown = clusters.as_yaml({"status": said.get("status", {})})
    return said, shown


@k8s.command()
@click.argument("name")
@_cluster
@answered
def preempt(*, name: str, cluster: str) -> Answer:
    """Preempt a node with its pods. Its node pool creates it again at the next request."""
    clusters.running_clusters().remove_kube_node(name, cluster=cluster)
    return {"preempted": name}, f"{name} is gone, and its pods"


@k8s.command()
@click.argument("pod")
@click.argument("text")
@_namespace
@_cluster
@answered
def log(*, pod: str, text: str, namespace: str, cluster: str) -> Answer:
    """Add a line to the log of a pod."""
    clusters.running_clusters().say_log(pod, f"{text}\n", namespace=namespace, cluster=cluster)
    return {"pod": pod, "text": text}, f"the log of {pod} has the line"


@k8s.command()
@click.argument("config", type=options.A_FILE_THERE)
@click.option("--cluster", default="", metavar="projects/P/locations/L/clusters/C", help="Every cluster if not given.")
@answered
def use(*, config: Path, cluster: str) -> Answer:
    """Use the API server of a kubeconfig for clusters: what `up` declares in them goes there.

    That server is to take the token `local`, which stands for Google's.
    """
    endpoint = clusters.use(config, cluster)
    return {"endpoint": endpoint}, f"the API server of {cluster or 'every cluster'} is {endpoint}"
