"""Every check of this repository, in the order in which a mistake is cheapest to hear of.

Owns which checks there are and how their outcome is told. Leaves what each checks to its tool and to pyproject.toml.
The scan for secrets has no baseline: a finding is mended, or marked on its line with `pragma: allowlist secret`.
What looks like a secret by its entropy alone is left out: digests, checksums and recorded URNs would be hundreds of
findings; so are values by the name of their variable.

A tool that this machine lacks is named as skipped; `--strict` makes that a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from infra.operations.errors import Failure
from infra.operations.workspace import CHECKOUT

NOISY = ("Base64HighEntropyString", "HexHighEntropyString", "KeywordDetector")
UNUSED = (
    "ArtifactoryDetector", "AzureStorageKeyDetector", "CloudantDetector", "DiscordBotTokenDetector",
    "GitLabTokenDetector", "IPPublicDetector", "IbmCloudIamDetector", "IbmCosHmacDetector", "MailchimpDetector",
    "SendGridDetector", "SoftlayerDetector", "SquareOAuthDetector", "StripeDetector", "TelegramBotTokenDetector",
    "TwilioKeyDetector",
)  # fmt: skip
"""Detectors of services that nothing here speaks to; without them the scan takes half the time."""

BY_EXTENSION = "detect_secrets.filters.heuristic.is_non_text_file"
"""The filter that would pass over *.lock, *.sum and others by name: their hashes are no finding, so read them too."""
BY_CALL = "detect_secrets.filters.heuristic.is_indirect_reference"
"""The filter that would pass over lines that look like calls. It is asked of every line for each detector, which takes
almost half of the scan's time, and nothing here needs it."""


def scan(paths: Iterable[Path]) -> tuple[str, ...]:
    """The command that fails where one of these files has a secret, and says where."""
    off = (text for name in (*NOISY, *UNUSED) for text in ("--disable-plugin", name))
    read = ("--disable-filter", BY_EXTENSION, "--disable-filter", BY_CALL)
    return ("detect-secrets-hook", "--no-verify", *read, *off, *map(str, paths))


CORES = min(os.cpu_count() or 2, 8)
BIN = Path(sys.executable).parent
CODE = ("bench", "infra", "workflows", "tests")
WORKFLOW_SCHEMA = ("--builtin-schema", "vendor.github-workflows")
ACTION_SCHEMA = ("--builtin-schema", "vendor.github-actions")
CORE = Path("tests/engines/live")
"""Where the core of the live tier is: pytest collects this folder alone, since all tests take minutes to collect."""
GO_TOOLS = ("actionlint", "crane", "vale")
"""What is built from infra/tools before the checks, where Go is on this machine and they are not there yet."""


@dataclass(frozen=True, slots=True)
class Check:
    """One tool and its arguments. `optional` tools come from outside the lock, so a machine may lack them; `alone` ones
    use every core themselves. `starts`: the tool that the command itself starts, where that is another."""

    name: str
    command: tuple[str, ...]
    optional: bool = False
    alone: bool = False
    starts: str = ""

    @property
    def tool(self) -> str:
        return self.starts or self.command[0]

    def executable(self) -> str | None:
        path = f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"
        return shutil.which(self.tool, path=path) and shutil.which(self.command[0], path=path)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What became of one check; `seconds` is wall time."""

    name: str
    status: Literal["passed", "failed", "skipped"]
    seconds: float
    note: str = ""


def checks_for(
    *, fast: bool = False, unit: bool = False, heavy: bool = False, live: bool = False, core: bool = False,
    extra: Sequence[str] = (),
) -> list[Check]:  # fmt: skip
    """Which checks there are. fast, unit, core: the tests alone. extra: further arguments for pytest."""
    tests = [pytest_check(unit=unit, heavy=heavy, live=live, core=core, extra=extra)]
    return tests if fast or unit or core else [*static_checks(), *tests]


def static_checks() -> list[Check]:
    shell = tracked(is_shell)
    workflows, actions = tracked(is_workflow), tracked(is_action)
    python = [str(path) for path in tracked(lambda path: path.suffix == ".py") if path.parts[0] in CODE]
    product = [path for path in python if "tests" not in Path(path).parts[:-1]]
    return [
        Check("ruff", ("ruff", "check", *CODE)),
        Check("ruff format", ("ruff", "format", "--check", *CODE)),
        Check("ty", ("ty", "check", *CODE)),
        Check("generated workflows", (sys.executable, "-m", "infra.cli", "workflows", "--check")),
        Check("import layers", ("lint-imports",)),
        Check("unused dependencies", ("deptry", "bench", "infra", "workflows")),
        Check("dead code", ("vulture", *product)),  # what tests alone use is dead too
        Check("dead code of tests", ("vulture", "--min-confidence", "80", *python)),
        Check("shellcheck", ("shellcheck", *map(str, shell))),
        Check("hadolint", ("hadolint", *map(str, tracked(is_dockerfile)))),
        Check("secrets", scan(tracked(lambda _: True))),
        Check("prose", ("mdformat", "--check", *map(str, tracked(is_prose)))),
        Check("shfmt", ("shfmt", "-i", "2", "-ci", "-d", *map(str, shell))),
        Check("workflow schema", ("check-jsonschema", *WORKFLOW_SCHEMA, *map(str, workflows))),
        Check("action schema", ("check-jsonschema", *ACTION_SCHEMA, *map(str, actions))),
        Check("zizmor", ("zizmor", "--offline", "--no-progress", *map(str, (*workflows, *actions)))),
        *actionlint_checks(workflows),
        Check("vale", (sys.executable, "-m", "tests.vale"), optional=True, starts="vale"),
        Check("crane", ("crane", "version"), optional=True),
        Check("gcloud", ("gcloud", "version"), optional=True),
    ]


def actionlint_checks(workflows: Sequence[Path]) -> Iterator[Check]:
    """One check a repository, for each has runners, and so labels, of its own: this one, and copies for others."""
    for top in sorted({path.parents[2] for path in workflows}):
        labels = top / ".github" / "actionlint.yaml"
        config = ("-config-file", str(labels)) if (CHECKOUT / labels).is_file() else ()
        shell = ("-shellcheck", str(BIN / "shellcheck"))
        files = (str(path) for path in workflows if path.parents[2] == top)
        name = "actionlint" if top == Path() else f"actionlint {top.name}"
        yield Check(name, ("actionlint", *config, *shell, *files), optional=True)


def pytest_check(*, unit: bool, heavy: bool, live: bool, core: bool, extra: Sequence[str]) -> Check:
    """core: the core of the live tier, and no other test."""
    tiers = (("heavy", heavy), ("live", live), ("end_to_end", not unit))
    marked = "core" if core else " and ".join(f"not {tier}" for tier, wanted in tiers if not wanted)
    chosen = ("-m", marked, *(("-o", f"testpaths={CORE}") if core else ()))
    # Replacing a worker that crashed, xdist waits for ever for a module of tests that the dead one had begun. Sorted by
    # how many tests they have, modules of few long ones would come last, when the other workers have nothing left; so
    # the order is that of tests/plugin.py.
    spread = ("--dist", "loadgroup" if core else "loadscope", "--no-loadscope-reorder", "--max-worker-restart", "0")
    # One worker more than cores: tests wait for disks and processes, and for limits that pass.
    workers = () if extra else ("-n", str(CORES + 1), *spread)
    # Google's plugin asks again for twenty minutes where a reservation has no room.
    patience = ("-o", "faulthandler_timeout=2700") if live else ()
    return Check("pytest", ("pytest", *chosen, *workers, *patience, *extra), alone=True)


def mutant_checks(groups: Sequence[str]) -> list[Check]:
    """Whether the tests see it when the code of these groups is changed (`tests/mutants.toml`)."""
    return [Check(f"mutants {name}", (sys.executable, "-m", "tests.mutants", name), alone=True) for name in groups]


def tracked(wanted: Callable[[Path], bool]) -> list[Path]:
    """The files of this checkout that git tracks or would track, relative to its root.

    Raises Failure where git is missing or this is no checkout, as in an unpacked source archive.
    """
    try:
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=CHECKOUT, check=True, capture_output=True, text=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError) as error:
        reason = error.stderr.strip() if isinstance(error, subprocess.CalledProcessError) else str(error)
        raise Failure(
            f"git does not say which files to check ({reason}). Run `./tidepool test --fast` for the tests alone; "
            "in a source archive, `git init && ./tidepool test` runs every check."
        ) from None
    paths = (Path(line) for line in listed.stdout.splitlines())
    return sorted(path for path in paths if (CHECKOUT / path).is_file() and wanted(path))


def is_workflow(path: Path) -> bool:
    """Of this repository, or a copy of another's in workflows/generated; the faulty ones of tests are neither."""
    return path.parent.parts[-2:] == (".github", "workflows") and path.parts[0] in {".github", "workflows"}


def is_action(path: Path) -> bool:
    """Of this project's own, which workflows of all repositories call; actionlint reads no such file."""
    return path.parts[0] == "actions" and path.name == "action.yml"


def is_prose(path: Path) -> bool:
    """Pages that people read; golden files are as commands print them."""
    return path.suffix == ".md" and path.parts[0] != "tests"


def is_shell(path: Path) -> bool:
    if path.suffix:
        return path.suffix == ".sh"
    with (CHECKOUT / path).open("rb") as file:
        first = file.readline(80)
    return first.startswith(b"#!") and first.split()[0].rsplit(b"/", 1)[-1] in {b"sh", b"bash"}


def is_dockerfile(path: Path) -> bool:
    return path.stem == "Dockerfile" and path.suffix != ".dockerignore"


def run_all(checks: Sequence[Check], tell: Callable[[str], None], *, strict: bool, quiet: bool) -> list[CheckResult]:
    """Run each, as many side by side as there are cores, but for those that run alone.

    tell: hears which, and what they print. quiet: what those that run alone print goes to stderr.
    """
    with ThreadPoolExecutor(CORES) as pool:
        run_one = partial(run, tell=tell, strict=strict, quiet=quiet)
        together = list(pool.map(run_one, (check for check in checks if not check.alone)))
    return [*together, *(run_one(check) for check in checks if check.alone)]


def run(check: Check, tell: Callable[[str], None], *, strict: bool, quiet: bool) -> CheckResult:
    """Run one. What a tool prints beside others is held back until it ends, so that it stands in one piece."""
    executable = check.executable()
    if executable is None:
        missing = f"{check.tool} is not on this machine"
        status = "skipped" if check.optional and not strict else "failed"
        tell(f"{check.name}: {missing}")
        return CheckResult(check.name, status, 0.0, missing)
    if check.alone:
        tell(f"-- {check.name}")
    started = time.perf_counter()
    done = subprocess.run(
        [executable, *check.command[1:]],
        cwd=CHECKOUT, check=False, env=environment(strict=strict), text=True,
        stdout=(sys.stderr if quiet else None) if check.alone else subprocess.PIPE,
        stderr=None if check.alone else subprocess.STDOUT,
    )  # fmt: skip
    if not check.alone:
        tell(f"-- {check.name}\n{done.stdout}".rstrip())
    seconds = round(time.perf_counter() - started, 2)
    return CheckResult(check.name, "passed" if done.returncode == 0 else "failed", seconds)


def environment(*, strict: bool) -> dict[str, str]:
    """Of a check. Bytecode is kept even where the machine says otherwise: the tests start hundreds of Pythons."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "TIDEPOOL_STRICT": "1" if strict else "0"}
