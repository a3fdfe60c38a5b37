"""Who runs which image: the pools of all stacks, what each may run, and the stack whose fleet bucket has the record.

Owns the reading of `used_by`. Which digest a pool runs is in the record.
"""

from __future__ import annotations

from collections.abc import Mapping

from infra.model.errors import ConfigError, Problem
from infra.model.images.record import Uses
from infra.model.images.spec import SPEC_FILE, ImageSpec
from infra.model.schema import StackConfig


def record_stack(spec: ImageSpec) -> str:
    """The stack whose fleet bucket has the record of all images: the one whose registries they are pushed to.

    Images that no stack's registries hold are recorded beside the others. Raises ConfigError where there is no such
    stack, or more than one: pools could then run what another record says.
    """
    stacks = sorted({image.push.artifact_registry.stack for image in spec.images if image.push.artifact_registry})
    if len(stacks) == 1:
        return stacks[0]
    rule = "one stack's fleet bucket has the record of images: that of the registries which they are pushed to"
    fix = "push.artifact_registry.stack: the same in every image that has one"
    raise ConfigError([Problem(f"{SPEC_FILE} images", ", ".join(stacks) or "no stack", rule, fix)])


def uses(spec: ImageSpec, stacks: Mapping[str, StackConfig]) -> Uses:
    """The images that each pool may run, for every pool of every stack."""
    known = pool_stacks(stacks)
    return {
        pool: frozenset(
            image.name for image in spec.images if pool in image.used_by.pools and image.used_by.stack == stack
        )
        for pool, stack in known.items()
    }


def pool_stacks(stacks: Mapping[str, StackConfig]) -> Mapping[str, str]:
    """The stack of every pool; pool names are unique in a project, as VM names are made of them."""
    return {pool.name: name for name, stack in sorted(stacks.items()) for pool in stack.pools}
