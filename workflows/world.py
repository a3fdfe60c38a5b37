"""What specifications are generated against: the fleet, the images, their pins, shell files, actions at commits.

Owns the reading of all of it from a checkout, which pool of which stack a name means, and `workflows/actions.yaml`:
what an entry must say, how `uses:` names it, which entries of another such file are newer, the pin of this project's
own. Leaves finding new releases to whoever writes that file, the content of our own actions to `workflows.composite`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any

from infra.model import names
from infra.model.errors import ConfigError, Problem
from infra.model.images.load import load_images
from infra.model.images.pins import Pins, load_pins
from infra.model.images.spec import ImageSpec
from infra.model.images.steps import bootstrap
from infra.model.json_shape import JsonShape
from infra.model.schema import Pool, StackConfig
from infra.model.stack import load_stack
from infra.model.stack_text import stack_names
from infra.model.yamlfile import Document, read
from workflows.builders.step import Pinned

SHELL = Path("workflows/shell")
ACTIONS = "actions"
"""The folder of this project's own actions: its path is part of their names."""
TABLE = Path("workflows/actions.yaml")
_HERE = Path(__file__).parents[1]
_RUNS = ("infra/fleet/runs/*.py", "infra/model/runs.py", "infra/model/run_records.py")
_RESULTS = ("infra/operations/result*.py", "infra/results/*.py", "infra/model/result_request.py", "infra/github/*.py")
CODE = {"run_": _RUNS, "results_": _RESULTS}
"""How shell files begin that run code of this project, and its paths, which the commit of their actions' pin has."""
_NAME = re.compile(r"[A-Za-z0-9-]+/[A-Za-z0-9._-]+")
_VERSION = re.compile(r"v?(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*)){0,2}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SOURCE = re.compile(r"https://[^\s/]+\.[^\s/]+/\S+")
_KEYS = ("version", "commit", "source", "read")
_PIN = ("version", "commit", "tree")
_OWN = re.compile(r"^own:\n(?:[ #].*\n)*", re.MULTILINE)


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
    """stacks: by name. first_step: the text of the first step of an image build. scripts: shell files by name."""

    stacks: Mapping[str, StackConfig]
    images: ImageSpec
    pins: Pins
    actions: Actions
    first_step: str
    scripts: Mapping[str, str]

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
        scripts={path.name: _script(path) for path in sorted((root / SHELL).glob("*.sh"))},
    )


def _script(path: Path) -> str:
    """A shell file; of one that runs code of this project with a digest of it, so that its action is pinned anew."""
    text = path.read_text(encoding="utf-8")
    patterns = next((paths for begins, paths in CODE.items() if path.name.startswith(begins)), ())
    if not patterns:
        return text
    code = sorted(each for pattern in patterns for each in _HERE.glob(pattern))
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in code)).hexdigest()
    return f"# Digest of that code: {digest[:16]}\n{text}"


@dataclass(frozen=True, slots=True)
class Action:
    """One release: `commit` is what its tag `version` stood for on the day `read` at the URL `source`."""

    name: str
    version: str
    commit: str
    source: str
    read: date


@dataclass(frozen=True, slots=True)
class Newer(JsonShape):
    """A release that another file has; `moved` where it is the same version at another commit, as no tag should be."""

    JSON = ("have", "offered", "moved")

    have: Action
    offered: Action

    @property
    def moved(self) -> bool:
        return self.have.version == self.offered.version

    def __str__(self) -> str:
        if self.moved:
            return (
                f"{self.have.name} {self.have.version}: the tag moved from {self.have.commit} to "
                f"{self.offered.commit}; find out why before you take it ({self.offered.source})"
            )
        return f"{self.have.name}: {self.offered.version} after {self.have.version} ({self.offered.source})"


@dataclass(frozen=True, slots=True)
class OwnPin:
    """Where one action of this project stands: at a commit, whose day is `version`.

    tree: git's name of the action's folder there, which tells also without the commit whether it is what is generated.
    """

    version: str
    commit: str
    tree: str


@dataclass(frozen=True, slots=True)
class OwnActions:
    """The actions of this project. repository: owner/name; of another lab's copy of the project the pins say nothing.

    Each has a pin of its own, so that the edit of one changes the files that call it, and no others.
    """

    repository: str
    pins: Mapping[str, OwnPin]

    def to_text(self) -> str:
        """As the table has it. Values are quoted, because YAML takes a hash of digits alone for a number."""
        lines = ["own:", f"  repository: {self.repository}", "  pins:"]
        for name, pin in sorted(self.pins.items()):
            lines += [f"    {name}:", *(f'      {each.name}: "{getattr(pin, each.name)}"' for each in fields(pin))]
        return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Actions:
    """The table by name. own: None before the first commit that has our actions; steps then stand in full."""

    each: Mapping[str, Action]
    own: OwnActions | None = None

    def uses(self, action: str) -> Pinned:
        """An action, or one in a folder of its repository, at its commit: `uses("github/codeql-action/init")`.

        ConfigError where the table has none of that name.
        """
        name = "/".join(action.split("/")[:2])
        if name not in self.each:
            rule = f"the action is not in {TABLE}, with its commit and where that was read"
            raise ConfigError([Problem(f"uses {action}", "", rule, ", ".join(sorted(self.each)))])
        return Pinned(action, self.each[name].commit, self.each[name].version)

    def newer(self, offered: Actions) -> tuple[Newer, ...]:
        """What the other table has later releases of, and tags that moved; actions that only one has are left out."""
        pairs = (Newer(have, offered.each[name]) for name, have in sorted(self.each.items()) if name in offered.each)
        return tuple(pair for pair in pairs if _later(pair) or (pair.moved and pair.have.commit != pair.offered.commit))


def repinned(text: str, own: OwnActions) -> str:
    """A table's text with other pins of our own actions, and every other line as it was."""
    return _OWN.sub(own.to_text(), text) if _OWN.search(text) else f"{text.rstrip()}\n{own.to_text()}"


def load_actions(root: Path) -> Actions:
    """The table of a checkout; ConfigError with every mistake in it."""
    return read_actions((root / TABLE).read_text(encoding="utf-8"), str(TABLE))


def read_actions(text: str, source: str) -> Actions:
    """A table from its text, as for `--newer FILE`; ConfigError with every mistake in it."""
    document = read(text, source)
    problems = list(document.problems)
    entries = document.data.get("actions")
    if document.data.get("version") != 1:
        problems.append(Problem(source, str(document.data.get("version", "")), "not version 1", "version: 1"))
    if not isinstance(entries, dict):
        problems.append(Problem(source, "", "no mapping of actions by name under `actions`", "actions:"))
        raise ConfigError(problems)
    found: dict[str, Action] = {}
    for name, entry in entries.items():
        mistakes = list(_mistakes(document, source, name, entry))
        problems += mistakes
        if not mistakes:
            found[name] = Action(
                name, entry["version"], entry["commit"], entry["source"], date.fromisoformat(entry["read"])
            )
    own = document.data.get("own")
    if own is not None and not _is_own(own):
        rule = f"our own actions lack a repository, pins with each {', '.join(_PIN)}, and a command that finds them"
        problems.append(Problem(f"{source} own", "", rule, "./tidepool workflows --pin-actions"))
    if problems:
        raise ConfigError(problems)
    pins = {name: OwnPin(**pin) for name, pin in own["pins"].items()} if own is not None else {}
    return Actions(found, OwnActions(own["repository"], pins) if own is not None else None)


def _is_own(own: Any) -> bool:
    if not isinstance(own, dict) or own.keys() != {"repository", "pins"} or not isinstance(own["pins"], dict):
        return False
    stands = {"version": _is_date, "commit": _is(_COMMIT), "tree": _is(_COMMIT)}
    return _is(_NAME)(own["repository"]) and all(
        isinstance(pin, dict) and pin.keys() == stands.keys() and all(stands[key](pin[key]) for key in stands)
        for pin in own["pins"].values()
    )


def _mistakes(document: Document, source: str, name: str, entry: Any) -> Iterator[Problem]:
    subject = f"{source}:{document.lines['actions', name]} {name}"
    if not _NAME.fullmatch(name):
        yield Problem(subject, name, "not a name of owner and repository", "actions/checkout")
    if not isinstance(entry, dict):
        yield Problem(subject, str(entry), f"an entry has {', '.join(_KEYS)}", "version: v5.0.0")
        return
    for key in sorted(set(entry) - set(_KEYS)):
        yield Problem(f"{subject}.{key}", "", f"an entry has {', '.join(_KEYS)}", "nothing")
    rules = {
        "version": (_is(_VERSION), "the release's whole version", "v5.0.0"),
        "commit": (_is(_COMMIT), "the commit's 40 digits, never invented", "the commit that the tag stands for"),
        "source": (
            _is(_SOURCE),
            "a public URL where the commit was read",
            "https://github.com/OWNER/NAME/releases/tag/V",
        ),
        "read": (_is_date, "the day when it was read", "2026-11-21"),
    }
    for key, (stands, rule, fix) in rules.items():
        value = entry.get(key)
        if not stands(value):
            yield Problem(f"{subject}.{key}", "" if value is None else str(value), rule, fix)


def _is(pattern: re.Pattern[str]) -> Any:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_date(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(date.fromisoformat(value))
    except ValueError:
        return False


def _later(pair: Newer) -> bool:
    return _numbers(pair.offered.version) > _numbers(pair.have.version)


def _numbers(version: str) -> tuple[int, ...]:
    parts = [int(part) for part in version.removeprefix("v").split(".")]
    return (*parts, *(0 for _ in range(3 - len(parts))))
