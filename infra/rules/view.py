"""One resource as rules see it, whichever engine plans it, and the careful reading of its inputs.

Owns how a value that nobody knows yet, or that nobody may see, looks to a rule. Values are plain: what
`infra.model.plan` puts into a step, so inputs of any shape may come in, and reading them never raises.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from infra.model.plan import Op, Plan, Step

HIDDEN: Final = "[secret]"
"""What stands in the place of a value that Pulumi holds as a secret."""
UNKNOWN: Final = "[unknown]"
"""What stands in the place of a value that only an apply can know."""

_MAX_DEPTH: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceView:
    """A resource as the program wants it; `inputs` in the provider's own spelling (camelCase)."""

    type: str
    name: str
    urn: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    protect: bool = False

    @property
    def subject(self) -> str:
        """`tpu-ci-us-west4-a-0 (tpu.V2Vm)`."""
        module, _, kind = self.type.partition(":")[2].partition(":")
        short = ".".join(part for part in (module.partition("/")[0], kind) if part)
        return f"{self.name} ({short or self.type})"

    def get(self, *path: str | int) -> Any:
        """The value at a path; None where there is none, also where something else than expected stands on the way."""
        value: Any = self.inputs
        for step in path:
            if isinstance(value, Mapping) and isinstance(step, str):
                value = value.get(step)
            elif isinstance(value, list | tuple) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return None
        return value

    def text(self, *path: str | int) -> str | None:
        """The text at a path; None where there is none, or none that is known and may be seen."""
        value = self.get(*path)
        return value if isinstance(value, str) and is_known(value) else None

    def table(self, *path: str | int) -> Mapping[str, Any]:
        """The mapping at a path; empty where there is none."""
        value = self.get(*path)
        return value if isinstance(value, Mapping) else {}

    def items(self, *path: str | int) -> tuple[Any, ...]:
        """The items of the list at a path; a single mapping counts as a list of one, anything else as none."""
        value = self.get(*path)
        if isinstance(value, Mapping):
            return (value,)
        return tuple(value) if isinstance(value, list | tuple) else ()


def views(plan: Plan) -> tuple[ResourceView, ...]:
    """What a plan leaves standing: every resource that it does not delete, as it is to be."""
    return tuple(view(step) for step in plan.steps if step.op not in (Op.DELETE, Op.RETAIN, Op.READ))


def view(step: Step) -> ResourceView:
    """The resource of one step as it is to be."""
    return ResourceView(
        type=step.type, name=step.name, urn=step.urn, inputs=step.new_inputs or {}, protect=step.protect
    )


def is_known(value: object) -> bool:
    """Whether a value is there to be judged."""
    return value is not None and value not in (HIDDEN, UNKNOWN)


def texts(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every text in a value with its path: `metadata.startup-script`, `dataDisks[0].mode`."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts(item, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from texts(item, f"{path}[{index}]", depth + 1)
