"""`./tidepool cloud k8s ...`: clusters of the local cloud, where people set the statuses that controllers would."""

from __future__ import annotations

from pathlib import Path

import click

from bench.operations import control
from bench.operations import kubernetes as clusters
from infra.cli import options
from infra.cli.answers import Answer, answered
from infra.cli.echo import echo

_cluster = click.option(
    "--cluster", default="", metavar="NAME", help="Name of the cluster; not needed where there is one."
)


@click.group(cls=options.Group, name="k8s", short_help="Clusters: their kubeconfig, statuses and nodes.")
def k8s() -> None:
    """Drive the Kubernetes clusters of the local cloud.

    They store objects and run nothing: they have no controller and no scheduler, so people set statuses, by `status`.
    """


@k8s.command()
@_cluster
def kubeconfig(*, cluster: str) -> None:
    """Print a kubeconfig for kubectl.

    \b
    ./tidepool cloud k8s kubeconfig > FILE
    KUBECONFIG=FILE kubectl get nodes
    """
    echo(clusters.config_of(cluster))


@k8s.command()
@click.argument("kind")
@click.argument("name")
@click.option(
    "--set", "sets", multiple=True, metavar="FIELD=VALUE", callback=options.pairs,
    help="A field of the status; may be repeated.",
)  # fmt: skip
@click.option(
    "--condition", "conditions", multiple=True, metavar="TYPE=True|False", callback=options.pairs,
    help="A condition of the status; may be repeated.",
)  # fmt: skip
@click.option("--namespace", "-n", default="default", show_default=True, help="Namespace of the object.")
@_cluster
@answered
def status(kind: str, name: str, sets: dict[str, str], conditions: dict[str, str], **where: str) -> Answer:
    """Set the status of an object, as its controller would.

    \b
    ./tidepool cloud k8s status jobset llama-8b -n pretraining --condition Completed=True
    ./tidepool cloud k8s status deploy curriculum -n rl --set readyReplicas=1 --set availableReplicas=1
    """
    return clusters.say(kind, name, sets, conditions, **where), f"{name} has the status"


@k8s.command()
@click.argument("name")
@_cluster
@answered
def preempt(*, name: str, cluster: str) -> Answer:
    """Preempt a node with its pods. Its node pool creates it again at the next request."""
    control.running().remove_kube_node(name, cluster=cluster)
    return {"preempted": name}, f"{name} is gone, and its pods"


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
