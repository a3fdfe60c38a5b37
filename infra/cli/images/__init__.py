"""`./tidepool images ...`: what images are, what rebuilds them, and which digest pools run."""

from __future__ import annotations

import click

from infra.cli.lazy import Entry, LazyGroup

_DECLARED, _BUILDING, _RUNNING = (f"infra.cli.images.{module}" for module in ("declared", "building", "running"))

SECTIONS: dict[str, dict[str, Entry]] = {
    "What is declared": {
        "list": Entry(_RUNNING, "Say what each image is, where it is, and which pools run it."),
        "plan": Entry(_DECLARED, "Say what a change of files rebuilds, in which order, and why."),
        "bases": Entry(_DECLARED, "Say what images are built from, and propose newer ones."),
        "listing": Entry(_DECLARED, "List another repository's files for the check of path filters."),
        "show": Entry(_DECLARED, "Print the build that is generated for an image."),
    },
    "Building": {
        "build": Entry(_BUILDING, "Build an image here, or start its build in the cloud."),
        "steps": Entry(_BUILDING, "Write what each step of a build is told."),
        "record": Entry(_BUILDING, "Record a build that every place has: its commit point."),
        "current": Entry(_RUNNING, "Print the digest that the record names as current."),
    },
    "Running": {
        "promote": Entry(_RUNNING, "Give a digest to pools."),
        "undo": Entry(_RUNNING, "Go back to what a pool ran before."),
        "where": Entry(_RUNNING, "Find every place that names a digest."),
    },
}


@click.group(cls=LazyGroup, sections=SECTIONS, context_settings={"max_content_width": 100})
def command() -> None:
    """Images are declared in images/images.yaml, built by Cloud Build or GitHub, recorded by digest once every region
    has them, and given to pools by promotion.
    """
