"""How a runner's name at GitHub is made of its VM's, and how the VM is found again from it.

Owns the rule in both directions. The broker makes names; the controller and status read them.

Each registration has a name of its own, since GitHub refuses a name that is taken and keeps offline runners for long:
the VM's name, a hyphen and six hexadecimal digits.
"""

from __future__ import annotations

import re
from typing import Final

SUFFIX_DIGITS: Final = 6
MAX_RUNNER_NAME: Final = 64
"""GitHub's limit (docs.github.com/en/rest/actions/self-hosted-runners, read 2026-11); a VM's name has at most 57."""

_RUNNER = re.compile(rf"(?P<vm>[a-z]([a-z0-9-]*[a-z0-9])?)-[0-9a-f]{{{SUFFIX_DIGITS}}}")


def runner_name(vm: str, suffix: str) -> str:
    """The name of one registration of a VM; ValueError where the suffix is not six hexadecimal digits."""
    name = f"{vm}-{suffix}"
    if vm_of(name) != vm or len(name) > MAX_RUNNER_NAME:
        raise ValueError(
            f"{name!r} is not the name of a runner: a VM, `-` and {SUFFIX_DIGITS} of 0-9a-f, {MAX_RUNNER_NAME} at most"
        )
    return name


def vm_of(runner: str) -> str | None:
    """The VM that a runner of that name would be of, None where the name is not made by this rule.

    A name alone does not make a runner ours: whoever asks knows which VMs are.
    """
    match = _RUNNER.fullmatch(runner)
    return match["vm"] if match else None
