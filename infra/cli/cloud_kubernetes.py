"""`./tidepool cloud k8s ...`: clusters of the local cloud, where people say what controllers would."""

from __future__ import annotations

from pathlib import Path

import click
import yaml

from infra.cli import options
from infra.cli.echo import answer, columns, echo
from infra.operations.local import kubernetes as clusters
from infra.operations.local.kubernetes import running_clusters

_cluster = click.option("--cluster", default="", metavar="NAME", help="Which; the only one when left out.")
_namespace = click.option("--namespace", "-n", default="default", show_default=True, help="Of the object.")


@click.group(name="k8s", short_help="Clusters: their kubeconfig, statuses, nodes and logs.")
def k8s() -> None:
    """Kubernetes clusters of the local cloud.

    They store objects and run nothing: no controller and no scheduler is there, so what a status says is said here.
    """


@k8s.command(name="list")
@options.json_option
def list_clusters(*, as_json: bool) -> None:
    """Every cluster, with where it answers."""
    found = running_clusters().clusters()
    rows = [(each["cluster"], str(each["objects"]), f"https://{each['host']}") for each in found]
    lines = columns(("cluster", "objects", "server"), rows)
    answer(as_json, {"clusters": found}, *(lines or ["there is no cluster"]))


@k8s.command()
@click.argument("name", metavar="projects/P/locations/L/clusters/C")
@options.json_option
def begin(*, name: str, as_json: bool) -> None:
    """Serve a cluster that the GKE API did not make; `end` forgets it."""
    made = running_clusters().begin_cluster(name)
    answer(as_json, made, f"{name} answers at https://{made['host']}")


@k8s.command()
@_cluster
@options.json_option
def end(*, cluster: str, as_json: bool) -> None:
    """Forget a cluster of `begin`, and all that is in it."""
    running_clusters().end_cluster(cluster)
    answer(as_json, {"ended": cluster}, "it is gone")


@k8s.command()
@_cluster
def kubeconfig(*, cluster: str) -> None:
    """Print what kubectl needs: ./tidepool cloud k8s kubeconfig > FILE; KUBECONFIG=FILE kubectl get nodes."""
    echo(yaml.safe_dump(clusters.config_of(cluster), sort_keys=False).rstrip())


@k8s.command()
@click.argument("kind")
@click.argument("name")
@click.option("--set", "sets", multiple=True, metavar="FIELD=VALUE", help="A field of the status; again for more.")
@click.option("--condition", "conditions", multiple=True, metavar="TYPE=True|False", help="Again for more.")
@_namespace
@_cluster
@options.json_option
def status(
    *, kind: str, name: str, sets: tuple[str, ...], conditions: tuple[str, ...], namespace: str, cluster: str,
    as_json: bool,
) -> None:  # fmt: skip
    """Say the status of an object, as its controller would.

    \b
    ./tidepool cloud k8s status jobset llama-8b -n pretraining --condition Completed=True
    ./tidepool cloud k8s status deploy curriculum -n rl --set readyReplicas=1 --set availableReplicas=1
    """
    said = clusters.say(kind, name, cluster, namespace, sets, conditions)
    shown = yaml.safe_dump({"status": said.get("status", {})}, sort_keys=False).rstrip()
    answer(as_json, said, shown)


@k8s.command()
@click.argument("name")
@_cluster
@options.json_option
def preempt(*, name: str, cluster: str, as_json: bool) -> None:
    """Take a node away with the pods on it; a pool of the GKE API brings it back with the next look."""
    running_clusters().remove_kube_node(name, cluster=cluster)
    answer(as_json, {"preempted": name}, f"{name} is gone, and its pods")


@k8s.command()
@click.argument("pod")
@click.argument("text")
@_namespace
@_cluster
@options.json_option
def log(*, pod: str, text: str, namespace: str, cluster: str, as_json: bool) -> None:
    """Let a pod print a line."""
    running_clusters().say_log(pod, f"{text}\n", namespace=namespace, cluster=cluster)
    answer(as_json, {"pod": pod, "text": text}, f"{pod} printed it")


@k8s.command()
@click.argument("config", type=options.A_FILE_THERE)
@click.option("--cluster", default="", metavar="projects/P/locations/L/clusters/C", help="Every one when left out.")
@options.json_option
def use(*, config: Path, cluster: str, as_json: bool) -> None:
    """Let clusters have the API server of a kubeconfig: what `up` declares in them goes there.

    That server is to take the token `local`, which stands for Google's.
    """
    endpoint = clusters.use(config, cluster)
    answer(as_json, {"endpoint": endpoint}, f"the API server of {cluster or 'every cluster'} is {endpoint}")
