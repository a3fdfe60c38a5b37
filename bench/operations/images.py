"""Builds of images on this machine.

Owns the order of a build here: parents first, each child from what was just built, then its smoke test. Nothing is
pushed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from bench.builds.builders import BuildError, Built, local_builder, order
from infra.model.images.spec import SMOKE_TEST, Image
from infra.model.images.steps import parent_argument
from infra.operations.declared.images import Lab
from infra.operations.errors import Failure

_ELSEWHERE = (
    "where no registry is reached, build from a stand-in: docs/image-builds.md, Trying a recipe without a registry"
)


def build(
    lab: Lab, image: Image, *, context: Path | None, given: Mapping[str, str], cached: bool,
    listen: Callable[[str, str], None],
) -> tuple[str, tuple[Built, ...]]:  # fmt: skip
    """Build an image here, and before it those that it is built from; the builder's name and what came of each.

    context: a checkout of the repository that the image reads, where that is another than the recipes'. given: images
    by the argument whose pinned one they replace. listen: is told the image and what became of it, or no image and a
    line that the builder printed. Raises Failure without a builder, or where a build or a smoke test fails.
    """
    builder = local_builder()
    if builder is None:
        raise Failure(
            "this machine has no builder: docker with buildx and a running daemon, or as root buildah (Debian: "
            f"apt-get install buildah). `./tidepool images build {image.name} --trigger` builds it in the cloud"
        )
    done: list[Built] = []
    try:
        for each in (*lab.spec.ancestors(image.name), image):
            parents = {parent_argument(each, built.image): built.tag for built in done if built.image in each.parents}
            elsewhere = None if each.context.repository == lab.spec.recipes else context
            wanted = order(lab.root, lab.spec, lab.pins, each, context=elsewhere, images={**parents, **given})
            listen(each.name, f"building with {builder.name}")
            built = builder.build(wanted, lambda line: listen("", line), cached=cached)
            builder.smoke(built, wanted.recipe / SMOKE_TEST)
            listen(each.name, f"{built.tag} after {built.seconds} s, passed its smoke test")
            done.append(built)
    except BuildError as error:
        raise Failure(f"{error}\n{_ELSEWHERE}") from None
    return builder.name, tuple(done)
