"""What a run that is started by hand gets as its inputs, and which inputs GitHub refuses.

Owns types and defaults: https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax#onworkflow_dispatchinputs
and https://docs.github.com/en/rest/actions/workflows#create-a-workflow-dispatch-event (read 2026-11-22).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Declared = Mapping[str, Mapping[str, Any] | None]


def refused(declared: Declared, given: Mapping[str, Any]) -> str:
    """Why GitHub answers 422 to these inputs and starts nothing; empty where it takes them."""
    known = {name.lower(): (name, each or {}) for name, each in declared.items()}
    here = {name.lower(): value for name, value in given.items()}
    for name in given:
        if name.lower() not in known:
            return f"no input {name} is declared"
    for key, (name, each) in known.items():
        if key not in here:
            if must_be_given(each):
                return f"the input {name} is required"
            continue
        said, kind = as_text(here[key]), each.get("type", "string")
        if kind == "boolean" and said not in {"true", "false"}:
            return f"the input {name} is a boolean, not {said}"
        if kind == "choice" and said not in [as_text(option) for option in each.get("options") or ()]:
            return f"the input {name} has no option {said}"
    return ""


def must_be_given(about: Mapping[str, Any]) -> bool:
    """Whether GitHub refuses to start without a value for this input."""
    return about.get("required") is True and about.get("default") is None


def least(declared: Declared) -> dict[str, Any]:
    """Some value for each input that somebody has to give."""
    kinds = {"boolean": "false", "number": "1"}
    return {
        name: next(iter((each or {}).get("options") or ()), kinds.get((each or {}).get("type", ""), "any"))
        for name, each in declared.items()
        if must_be_given(each or {})
    }


def texts(declared: Declared, given: Mapping[str, Any]) -> dict[str, str]:
    """`github.event.inputs`: all as text, with the defaults of those that are not given."""
    here = {name.lower(): value for name, value in given.items()}
    return {name: as_text(here.get(name.lower(), _default(each or {}))) for name, each in declared.items()}


def typed(declared: Declared, given: Mapping[str, Any]) -> dict[str, str | bool]:
    """`inputs`: the same, but that booleans are booleans."""
    return {
        name: said == "true" if (declared[name] or {}).get("type") == "boolean" else said
        for name, said in texts(declared, given).items()
    }


def _default(declared: Mapping[str, Any]) -> Any:
    default = declared.get("default")
    return False if default is None and declared.get("type") == "boolean" else default


def as_text(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
