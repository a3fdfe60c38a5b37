"""What a specification is judged and generated against: the fleet, the images, their pins, the actions, shell files.

Owns the reading of all of it from a checkout, and which pool of which stack a name means. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.model import names
from infra.model.images.load import load_images
from infra.model.images.pins import Pins, load_pins
from infra.model.images.spec import ImageSpec
from infra.model.images.steps import bootstrap
from infra.model.schema import Pool, StackConfig
from infra.model.stack import load_stack, stack_names
from workflows.actions import Actions, OwnPin, load_actions
from workflows.builders import Pinned

SHELL = Path("workflows/shell")
ACTIONS = "actions"
"""The folder of this project's own actions: its path is part of their names."""
ISOLATION = Path("infra/fleet/runner/isolation.sh")


@dataclass(frozen=True, slots=True)
class StackPool:
    """A pool and the stack that declares it."""

    stack: StackConfig
    pool: Pool

    @property
    def account(self) -> str:
        """The address of the account that its VMs run as."""
        return names.account_email(names.pool_account_id(self.stack.stack, self.pool.name), self.stack.project)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """stacks: by name. first_step: the text of the first step of an image build. scripts: shell files by name.

    isolation: the shell file that keeps jobs on every VM from what is not theirs.
    """

    stacks: Mapping[str, StackConfig]
    images: ImageSpec
    pins: Pins
    actions: Actions
    first_step: str
    scripts: Mapping[str, str]
    isolation: str

    def action(self, name: str) -> Pinned | None:
        """An action of this project, where all other repositories find it; None before it is pinned."""
        pin = self.action_pins.get(name)
        return Pinned(f"{self.images.recipes}/{ACTIONS}/{name}", pin.commit, pin.version) if pin else None

    @property
    def action_pins(self) -> Mapping[str, OwnPin]:
        """The pins of this lab's own actions by name, in the repository that has its recipes, too."""
        own = self.actions.own
        return own.pins if own and own.repository == self.images.recipes else {}

    def pools(self) -> Iterator[StackPool]:
        """Every pool of every stack, by stack and name."""
        for _, stack in sorted(self.stacks.items()):
            for pool in sorted(stack.pools, key=lambda pool: pool.name):
                yield StackPool(stack, pool)

    def pool(self, name: str) -> StackPool | None:
        """The pool of that name; names of pools are unique in a project."""
        return next((each for each in self.pools() if each.pool.name == name), None)

    def standing(self) -> tuple[StackPool, ...]:
        """Pools with at least one VM that stands: the only ones that a job can wait for."""
        return tuple(each for each in self.pools() if each.pool.slices)


def load_world(root: Path, stacks: Mapping[str, StackConfig] | None = None) -> World:
    """Everything of a checkout; ConfigError with what is wrong in it. stacks: in place of those of the checkout."""
    if stacks is None:
        stacks = {name: load_stack(root, name) for name in stack_names(root)}
    return World(
        stacks=stacks,
        images=load_images(root, stacks),
        pins=load_pins(root),
        actions=load_actions(root),
        first_step=bootstrap(root),
        scripts={path.name: path.read_text(encoding="utf-8") for path in sorted((root / SHELL).glob("*.sh"))},
        isolation=(root / ISOLATION).read_text(encoding="utf-8"),
    )
