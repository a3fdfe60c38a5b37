"""`./tidepool images ...`: what images are, what rebuilds them, and which digest pools run.

Owns the table of these commands. What each does is its module's.
"""

from __future__ import annotations

import click

from infra.cli.lazy import Entry, LazyGroup

SECTIONS: dict[str, dict[str, Entry]] = {
    "What is declared": {
        "list": Entry("infra.cli.images.list", "Say what each image is, where it is, and which pools run it."),
        "plan": Entry("infra.cli.images.plan", "Say what a change of files rebuilds, in which order, and why."),
        "bases": Entry("infra.cli.images.bases", "Say what images are built from, and propose newer ones."),
        "listing": Entry("infra.cli.images.listing", "List another repository's files for the check of path filters."),
        "show": Entry("infra.cli.images.show", "Print the build that is generated for an image."),
    },
    "Building": {
        "build": Entry("infra.cli.images.build", "Build an image here, or start its build in the cloud."),
        "steps": Entry("infra.cli.images.steps", "Write what each step of a build is told."),
        "record": Entry("infra.cli.images.record", "Record a build that every place has: its commit point."),
        "current": Entry("infra.cli.images.current", "Print the digest that the record names as current."),
    },
    "Running": {
        "promote": Entry("infra.cli.images.promote", "Give a digest to pools."),
        "undo": Entry("infra.cli.images.undo", "Go back to what a pool ran before."),
        "where": Entry("infra.cli.images.where", "Find every place that names a digest."),
    },
}


@click.group(
    name="images",
    cls=LazyGroup,
    sections=SECTIONS,
    short_help="Say what images are, build them, and give them to pools.",
    context_settings={"max_content_width": 100},
)
def command() -> None:
    """Images are declared in images/images.yaml, built by Cloud Build or GitHub, recorded by digest once every region
    has them, and given to pools by promotion.
    """
