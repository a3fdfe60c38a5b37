"""What a builder is given of a build before any recipe is fetched: where its sources are, and which steps it has.

Owns the digest of the steps, by which the fetched recipes tell a builder that is older than they are. What a step is
told besides comes from these recipes (`told`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from infra.model.images.spec import Image, ImageSpec
from infra.model.images.steps import BuildStep, checkouts


def common_env(spec: ImageSpec, images: Sequence[Image], steps: Sequence[BuildStep], bootstrap: str) -> dict[str, str]:
    """What the builder tells every step of this build: where its sources are, and which steps it has.

    steps: as for `steps_digest`.
    """
    described = (f"{each.folder} {each.repository} {each.branch}" for each in checkouts(spec, images))
    return {
        "CHECKOUTS": ";".join(described),
        "BUILT": images[0].name,
        "STEPS": steps_digest(spec, images, steps, bootstrap),
    }


def steps_digest(spec: ImageSpec, images: Sequence[Image], steps: Sequence[BuildStep], bootstrap: str) -> str:
    """SHA-256 of what a builder must be told anew when it changes: which steps there are, which sources are fetched,
    and the text that fetches them. What a step is told besides, and the containers and limits of steps, are no part.

    steps: those of `build_steps` as the builder is given them, without a mirror.
    """
    form = {
        "checkouts": [[each.folder, each.repository, each.branch] for each in checkouts(spec, images)],
        "first": bootstrap,
        "steps": [[step.id, step.script, step.after, step.signs_in] for step in steps],
    }
    return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()
