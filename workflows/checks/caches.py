"""Rules of caches: what is saved is read, what is read is saved, in the folder that the tool uses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from workflows.checks.plain import becoming, text, texts
from workflows.checks.rule import Broken, Repository, WorkflowRule, broken
from workflows.checks.views import JobView, StepView

_ONE_RUN = re.compile(
    r"github\.(sha|run_id|run_number|run_attempt)|github\.event\.(after|head_commit|pull_request\.head\.sha)"
)
_LOOKED_FOR = re.compile(r"\$\{\{\s*steps\.(?P<step>[\w-]+)\.outputs\.cache-primary-key\s*\}\}")
_FIXED = re.compile(r"runner\.(os|arch)|github\.(job|workflow|repository|ref|ref_name|event_name|base_ref)|matrix\..*")
"""What does not change with what is cached."""
_TOOLS = {
    "~/.cache/pip": ("pip", "PIP_CACHE_DIR"),
    "~/.cache/uv": ("uv", "UV_CACHE_DIR"),
    "~/.cache/pre-commit": ("pre-commit", "PRE_COMMIT_HOME"),
    "~/.npm": ("npm", "npm_config_cache"),
    "~/.cargo": ("cargo", "CARGO_HOME"),
    "~/.cache/huggingface": ("", "HF_HOME"),
    "~/.cache/bazel": ("bazel", ""),
    "~/.cache/go-build": ("go", "GOCACHE"),
}
"""Folders that a tool uses by itself: the tool, and the variable that puts it elsewhere."""
_LAYERS = re.compile(r"type=(?P<type>local|gha|registry|s3|gcs)(?P<rest>[^\s'\"]*)")
_PLACE = re.compile(r"(?:src|dest|ref|scope|bucket)=(?P<place>[^,\s]+)")


@dataclass(frozen=True)
class _Entry:
    """One use of actions/cache: which keys it saves under, which it looks for, and the folders."""

    job: JobView
    step: StepView
    saves: bool
    restores: bool

    @property
    def key(self) -> str:
        """As it is written, or by the step whose key it is: a restore puts out what it looked for."""
        key = text(self.step.inputs.get("key")).strip()
        if looked := _LOOKED_FOR.fullmatch(key):
            found = (each.inputs.get("key") for each in self.job.steps if each.id == looked["step"])
            return text(next(found, key)).strip()
        return key

    @property
    def prefixes(self) -> tuple[str, ...]:
        return tuple(_shape(each) for each in text(self.step.inputs.get("restore-keys")).split("\n") if each.strip())

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple(each.strip() for each in text(self.step.inputs.get("path")).split("\n") if each.strip())

    def finds(self, other: _Entry) -> bool:
        """Whether it may find what the other saved."""
        return _shape(self.key) == _shape(other.key) or self.continues(other)

    def continues(self, other: _Entry) -> bool:
        """Whether it takes what another key left, by its beginning."""
        return any(_shape(other.key).startswith(each) for each in self.prefixes)


def _shape(key: str) -> str:
    """A key with all its expressions alike, since two of them may give the same text."""
    return re.sub(r"\$\{\{.*?\}\}", "*", key.strip())


def _entries(judged: Repository) -> Iterator[_Entry]:
    for job in judged.jobs():
        for step in job.steps:
            if step.action == "actions/cache":
                yield _Entry(job, step, saves=True, restores=True)
            elif step.action in {"actions/cache/save", "actions/cache/restore"}:
                saves = step.action.endswith("save")
                yield _Entry(job, step, saves=saves, restores=not saves)


def _read(judged: Repository) -> Iterator[Broken]:
    entries = tuple(_entries(judged))
    for entry in entries:
        readers = [each for each in entries if each.restores and each.finds(entry)]
        if entry.saves and not readers:
            yield broken(entry.step, f"the cache {entry.key} is saved, and no job restores it")
        elif entry.saves and _ONE_RUN.search(entry.key) and not any(_again(each, entry) for each in readers):
            yield broken(entry.step, f"no later run has the key {entry.key}, and there are no restore-keys")
    yield from _layers(judged, "cache-to", "cache-from", "saved, and nothing reads it")


def _again(reader: _Entry, entry: _Entry) -> bool:
    """Whether a later run finds it, by the beginning of its key or by another one, or another job of the same run."""
    return reader.continues(entry) or reader.job != entry.job or reader.key != entry.key


def _saved(judged: Repository) -> Iterator[Broken]:
    entries = tuple(_entries(judged))
    for entry in entries:
        if entry.restores and not entry.saves and not any(each.saves and entry.finds(each) for each in entries):
            yield broken(entry.step, f"the cache {entry.key} is restored, and no job saves it")
    yield from _layers(judged, "cache-from", "cache-to", "read, and nothing saves it")


def _folders(judged: Repository) -> Iterator[Broken]:
    entries = tuple(_entries(judged))
    for entry in entries:
        others = [each for each in entries if each.saves and entry.restores and not entry.saves and entry.finds(each)]
        for other in others:
            if set(other.folders) != set(entry.folders):
                said = f"{', '.join(entry.folders)} here, and {', '.join(other.folders)} where it is saved"
                yield broken(entry.step, f"a cache is found by its key and its folders, which differ: {said}")
        if entry.restores:
            for folder in entry.folders:
                if said := _unused(entry, folder):
                    yield broken(entry.step, said)


def _unused(entry: _Entry, folder: str) -> str:
    """What is wrong with a folder that nothing in the job seems to use."""
    name = re.sub(r"^(~|\$HOME|\$\{\{\s*env\.HOME\s*\}\})/", "~/", folder.rstrip("/"))
    contents = [each for step in entry.job.steps if step != entry.step for _, each in texts(step.data, ())]
    contents += [text(each) for each in entry.job.env.values()]
    if any(name.removeprefix("~/").rstrip("*/") in each for each in contents):
        return ""
    for known, (tool, variable) in _TOOLS.items():
        if name == known or name.startswith(f"{known}/"):
            everywhere = {
                **entry.job.env,
                **{key: value for step in entry.job.steps for key, value in step.env.items()},
            }
            set_by = re.compile(rf"(?<![\w$]){variable}=(?P<value>[^\s;]+)") if variable else None
            scripts = [found["value"] for each in contents for found in (set_by.finditer(each) if set_by else ())]
            if variable in everywhere or scripts:
                elsewhere = text(everywhere[variable]) if variable in everywhere else scripts[0]
                return f"{folder} is cached, and {variable} puts the cache elsewhere: {elsewhere}"
            if not tool or any(re.search(rf"(?<![\w.-]){re.escape(tool)}(?![\w.])", each) for each in contents):
                return ""
            return f"{folder} is cached, and nothing here runs {tool}"
    if name.startswith(("/", "~/")):
        return f"{folder} is cached, and nothing in the job reads or writes it"
    return ""


def _layers(judged: Repository, side: str, other: str, said: str) -> Iterator[Broken]:
    """Layers of image builds that are saved or read on one side alone."""
    theirs = {place for each in judged.jobs() for place, _, _ in _places(each, other)}
    for job in judged.jobs():
        for place, step, line in _places(job, side):
            if place not in theirs:
                keys = ("with", side) if line is None else ()
                yield broken(step, f"the layers in {place} are {said}", *keys, line=line)


def _places(job: JobView, side: str) -> Iterator[tuple[str, StepView, int | None]]:
    for step in job.steps:
        if step.action == "docker/build-push-action" and side in step.inputs:
            for place in _located(text(step.inputs[side])):
                yield place, step, None
        for command in step.commands:
            for value in command.option(f"--{side}"):
                for place in _located(value):
                    yield place, step, command.line


def _located(value: str) -> Iterator[str]:
    for found in _LAYERS.finditer(value):
        place = _PLACE.search(found["rest"])
        yield f"{found['type']} {place['place'].rstrip('/') if place else 'its only place'}"


def _same(judged: Repository) -> Iterator[Broken]:
    for entry in _entries(judged):
        paths = {path for path, _ in becoming(entry.key)}
        calls = "hashFiles(" in entry.key
        if entry.saves and not calls and all(_FIXED.fullmatch(path) for path in paths):
            yield broken(
                entry.step, f"the key {entry.key} stays the same, so that what is cached first is never renewed"
            )


RULES = (
    WorkflowRule(
        "cache-read", _read, "a key of what the cache depends on, such as hashFiles('uv.lock'), and restore-keys"
    ),
    WorkflowRule("cache-told-apart", _same, "a key with hashFiles(...), or the tree of the commit"),
    WorkflowRule("cache-saved", _saved, "one key for both"),
    WorkflowRule("cache-in-place", _folders, "the folder of the tool, or no cache"),
)
