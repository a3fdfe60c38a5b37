"""Artifact Registry's clean-up keeps what promotion tags as in use."""

from __future__ import annotations

from infra.model import names
from infra.model.stack import load_stack
from tests.synthetic_lab import the_lab


def test_every_repository_of_images_keeps_the_tags_of_promotion() -> None:
    registries = load_stack(the_lab(), "ci").registries
    assert registries is not None
    for repository in registries.repositories:
        assert repository.cleanup is not None
        assert names.IN_USE_PREFIX in repository.cleanup.keep_tag_prefixes, repository.name
        assert repository.cleanup.keep_newest == 16
