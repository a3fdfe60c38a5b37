"""What the engine itself serves: stack references, and look-ups of resources of this very stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from infra.local.engine.checkpoint import ORGANIZATION, load
from infra.local.engine.errors import EngineError, RefusedError
from infra.local.engine.lock import holders
from infra.model import urns
from infra.model.secret_values import Secret, reveal

if TYPE_CHECKING:
    from collections.abc import Callable

    from infra.local.engine.backend import Backend
    from infra.local.engine.goal import Goal
    from infra.local.engine.run import Run


class Builtin:
    """The `pulumi` package: `pulumi:pulumi:StackReference`, and `pulumi:pulumi:getResource`."""

    def __init__(self, run: Run, backend: Backend, project: str, passphrase: Callable[[], str]) -> None:
        self._run = run
        self._backend = backend
        self._project = project
        self._passphrase = passphrase

    def read(self, goal: Goal) -> dict[str, Any]:
        """The outputs of a stack reference; EngineError says what to do about an unknown stack."""
        if goal.type != urns.STACK_REFERENCE_TYPE:
            raise RefusedError(f"{goal.urn}: the embedded engine does not support {goal.type}: use --engine pulumi")
        name = goal.inputs.get("name")
        if not isinstance(name, str):
            raise EngineError(f"{goal.urn}: the name of a stack must be a plain text that is known in a preview")
        outputs = self.stack_outputs(name)
        secret = sorted(key for key, value in outputs.items() if _is_secret(value))
        return {"name": name, "outputs": outputs, "secretOutputNames": secret}

    def stack_outputs(self, name: str) -> dict[str, Any]:
        """The outputs of a stack of this backend, by `stack` or `organization/project/stack`."""
        parts = name.split("/")
        project, stack = (self._project, name) if len(parts) == 1 else (parts[-2], parts[-1])
        if len(parts) > 1 and parts != [ORGANIZATION, project, stack]:
            raise EngineError(
                f"stack reference {name}: a file backend knows {ORGANIZATION}/<project>/<stack> alone; write "
                f"{ORGANIZATION}/{self._project}/{stack}"
            )
        files = self._backend.files(project, stack)
        running = frozenset(holder.path.stem for holder in holders(files) if not holder.dead)
        snapshot = load(files, self._passphrase, running=frozenset(f"{one}.jsonl" for one in running))
        if not snapshot.digest and not snapshot.states:
            raise EngineError(
                f"stack reference {name}: there is no stack {stack} of project {project} in "
                f"{self._backend.root}; bring it up first (`./tidepool up {stack}`)"
            )
        roots = [state for state in snapshot.states.values() if state.type == urns.STACK_TYPE]
        outputs = roots[0].outputs if roots else {}
        return {key: Secret(reveal(value)) if _is_secret(value) else value for key, value in outputs.items()}

    def invoke(self, function: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """A function of the `pulumi` package."""
        if function == "pulumi:pulumi:getResource":
            state = self._run.states.get(arguments.get("urn", ""))
            if state is None:
                raise EngineError(f"unknown resource {arguments.get('urn')}")
            return {"urn": state.urn, "id": state.id, "state": state.outputs}
        raise RefusedError(f"the embedded engine does not support the function {function}: use --engine pulumi")


def _is_secret(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_is_secret, value.values()))
    return any(map(_is_secret, value)) if isinstance(value, list) else isinstance(value, Secret)
