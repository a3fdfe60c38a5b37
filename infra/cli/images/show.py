"""`./tidepool images show IMAGE`: the build that is generated for an image, as its builder gets it."""

from __future__ import annotations

from typing import Any

import click
import yaml

from infra.cli import options
from infra.cli.echo import echo
from infra.cli.failures import Refusal
from infra.cli.images.lab import Lab, declared
from infra.cli.render.console import machines
from infra.model.images.github import build_jobs
from infra.model.images.spec import Builder, Image
from infra.model.images.steps import bootstrap
from infra.model.schema import Builds


@click.command(name="show", short_help="Print the build that is generated for an image.")
@click.argument("image")
@options.json_option
def command(*, image: str, as_json: bool) -> None:
    """Print what builds IMAGE and its descendants: the Cloud Build config of its trigger, or its jobs of the GitHub
    workflow. YAML, or with --json an object.
    """
    lab = declared()
    wanted = lab.image(image)
    body = _cloud_build(lab, wanted) if wanted.builder is Builder.CLOUDBUILD else _github(lab, wanted)
    if as_json:
        machines({"image": wanted.name, "builder": wanted.builder.value, "build": body})
    else:
        echo(yaml.dump(body, Dumper=_Dumper, sort_keys=False, width=1000), nl=False)


class _Dumper(yaml.SafeDumper):
    """Scripts as blocks, line by line."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _cloud_build(lab: Lab, image: Image) -> dict[str, Any]:
    from infra.program.builds import build_plan, image_build  # the program's SDK takes a while to import

    registry = image.push.artifact_registry
    stack = lab.stacks[registry.stack] if registry else lab.home
    plan = build_plan(lab.root, stack)
    if plan is None:
        raise Refusal(_undeclared(stack.stack, image))
    return image_build(plan, image)


def _github(lab: Lab, image: Image) -> dict[str, Any]:
    builds = _builds(lab, image)
    jobs = build_jobs(
        lab.spec,
        lab.pins,
        places={each.name: lab.places(each.name) for each in lab.spec.images},
        timeout=builds.timeout,
        bootstrap=bootstrap(lab.root),
    )
    return {each.name: jobs[each.name] for each in lab.spec.family(image.name)}


def _builds(lab: Lab, image: Image) -> Builds:
    if lab.home.builds is None:
        raise Refusal(_undeclared(lab.home.stack, image))
    return lab.home.builds


def _undeclared(stack: str, image: Image) -> str:
    return f"stacks/Pulumi.{stack}.yaml has no tidepool:builds, which says how {image.name} is scanned and built"
