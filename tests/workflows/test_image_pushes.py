"""What a push means for the images that GitHub builds: the jobs of the generated files are what `images plan` names."""

from __future__ import annotations

import pytest

from infra.model.federation import IMAGES_WORKFLOW
from infra.model.images.rebuilds import Change, rebuilds
from infra.model.images.spec import Builder
from tests.synthetic_lab import the_lab
from tests.workflows.specs import world
from workflows.starts import image_jobs

HERE, MONOREPO = "marin-community/tidepool", "marin-community/marin"
BASE, INCREMENTAL, CLUSTER = "levanter-base", "levanter-incremental", "levanter-cluster"
FAMILY = (BASE, INCREMENTAL, CLUSTER)


def planned(repository: str, *files: str) -> tuple[str, ...]:
    """The images for GitHub that `images plan` prints for these files."""
    found = rebuilds(world().images, [Change(repository, file) for file in files], world().stacks)
    return tuple(each.image for each in found if each.builder is Builder.GITHUB)


@pytest.mark.parametrize(
    ("files", "images"),
    [
        (["images/levanter-base/Dockerfile"], FAMILY),
        (["images/levanter-base/Dockerfile.dockerignore"], FAMILY),
        (["images/levanter-base/smoke.sh", "README.md"], FAMILY),
        (["images/levanter-incremental/Dockerfile"], (INCREMENTAL,)),
        (["images/levanter-cluster/smoke.sh"], (CLUSTER,)),
        (["images/levanter-incremental/Dockerfile", "images/levanter-cluster/Dockerfile"], (INCREMENTAL, CLUSTER)),
        (["images/levanter-cluster/Dockerfile", "images/levanter-base/Dockerfile"], FAMILY),
        (["images/steps/push.sh"], FAMILY),
        (["images/bases.yaml"], FAMILY),
        (["images/images.yaml"], FAMILY),
        (["infra/model/images/steps.py", IMAGES_WORKFLOW], FAMILY),
        (["images/levanter-base/README.md"], ()),
        (["images/levanter-base/README.md", "images/levanter-cluster/Dockerfile"], (CLUSTER,)),
        (["images/tpu-ci/Dockerfile"], ()),
        (["images/levanter-basement/Dockerfile"], ()),
        (["infra/cli/app.py", "docs/images.md"], ()),
        (["uv.lock"], ()),
        ([f"{MONOREPO}:uv.lock"], FAMILY),
        ([f"{MONOREPO}:lib/levanter/pyproject.toml"], FAMILY),
        ([f"{MONOREPO}:docs/index.md"], ()),
    ],
    ids=" ".join,
)
def test_a_push_starts_the_jobs_of_the_images_that_the_plan_names(files: list[str], images: tuple[str, ...]) -> None:
    repository = MONOREPO if files[0].startswith(MONOREPO) else HERE
    files = [file.removeprefix(f"{MONOREPO}:") for file in files]
    found = image_jobs(the_lab(), repository, files)
    assert found
    assert found.images == planned(repository, *files) == images
    assert bool(found.why) is not bool(images)


def test_what_follows_tests_is_not_built_at_the_push_of_its_sources() -> None:
    source = "lib/levanter/src/levanter/main.py"
    found = image_jobs(the_lab(), MONOREPO, [source])
    assert found
    assert (found.images, planned(MONOREPO, source)) == ((), (INCREMENTAL,))
