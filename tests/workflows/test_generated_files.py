"""The generated files of two specifications and of this repository: their text, what events start, edits."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.model.errors import ConfigError
from infra.model.result_request import read_result_request
from tests.workflows import specs
from tests.workflows.event_tables import table, told
from tests.workflows.sandbox.generated import GIVEN, generated
from tests.workflows.specs import pinned, world
from workflows.events import pull_request, push
from workflows.expressions import Scope, expand
from workflows.generate import Generated
from workflows.own import generate_own
from workflows.runs import run
from workflows.spec import load_spec

FOLDER = Path(__file__).parent
GOLDEN = FOLDER / "golden" / "files"
NAMES = sorted(str(path.relative_to(GOLDEN).with_suffix("")) for path in GOLDEN.rglob("*.txt"))
"""Every file, by its repository."""
OF_A_KIND = ("marin/levanter-launch_small_fast", "marin/marin-unit-tests", "serving/test-results")
"""Files of a kind that another one's text stands for."""
EDITS = yaml.safe_load((FOLDER / "edits.yaml").read_text())
REFUSED = yaml.safe_load((FOLDER / "refused.yaml").read_text())
EACH = pytest.mark.parametrize("name", NAMES)


def made() -> dict[str, tuple[str, Generated]]:
    """By the name of the golden: the repository and the file."""
    return {name.removesuffix(".yaml"): each for name, each in generated(pinned()).items()}


def compared(golden: Path, found: str, update: bool) -> None:
    if update:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(found)
    assert found == golden.read_text()


def test_every_file_is_as_its_golden_and_says_where_each_job_comes_from(update_goldens: bool) -> None:
    assert update_goldens or sorted(made()) == NAMES
    for name, (_, file) in made().items():
        if name not in OF_A_KIND:
            compared(GOLDEN / f"{name}.yaml", file.text, update_goldens)
        assert file.sources.keys() == file.workflow.plain()["jobs"].keys()
        for source in file.sources.values():
            line = (specs.the_lab() / source.file).read_text().splitlines()[source.line - 1]
            assert re.match(rf" *(- |\w+:)|def {source.key}\(around: OrderedWorld.*\) -> Job:$", line), source


def test_each_event_starts_the_jobs_of_the_golden_table(update_goldens: bool) -> None:
    for name, (repository, file) in made().items():
        workflow = file.workflow.plain()
        compared(GOLDEN / f"{name}.txt", told(workflow, table(workflow, repository), GIVEN), update_goldens)


def test_no_event_of_a_stranger_starts_a_job_with_an_identity_or_on_a_runner_of_ours() -> None:
    for name, (repository, file) in made().items():
        workflow = file.workflow.plain()
        for event in (each for each in table(workflow, repository) if "fork" in each.title):
            for job in (each for each in run(workflow, event, GIVEN).jobs if each.starts):
                assert "id-token" not in workflow["jobs"][job.id]["permissions"], f"{name} {job.id}: {event.title}"
                assert not any("self-hosted" in leg.labels for leg in job.legs), f"{name} {job.id}: {event.title}"


def test_linters_find_nothing() -> None:
    files = sorted(str(path) for path in GOLDEN.rglob("*.yaml"))
    programs = (
        ("check-jsonschema", "--builtin-schema", "vendor.github-workflows"),
        ("zizmor", "--offline", "--no-progress", "--quiet", "--color", "never"),
    )
    for program, *options in programs:
        command = [str(Path(sys.executable).parent / program), *options, *files]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


# Edits.


def edited(edit: Mapping[str, Any]) -> dict[str, str]:
    among = specs.with_stacks(edit.get("stacks", {}))
    made = specs.files(edit["of"], *edit.get("spec", ()), among=among)
    return {name: file.text for name, file in made.items()}


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        if name not in after or name not in before:
            yield f"{name}: {'new' if name in after else 'gone'}"
        elif lines := [*unified_diff(before[name].splitlines(), after[name].splitlines(), n=0, lineterm="")][2:]:
            yield from (name, *(line for line in lines if not re.match(r"@@|.# Digest of the lines above", line)))


def test_an_edit_changes_what_its_golden_says(update_goldens: bool) -> None:
    before = {of: edited({"of": of}) for of in ("marin", "serving")}
    found = [(edit["what"], *differences(before[edit["of"]], edited(edit))) for edit in EDITS]
    assert all(len(lines) > 1 for lines in found)
    text = "".join("\n".join((f"## {what}", *lines, "", "")) for what, *lines in found)
    compared(FOLDER / "golden" / "edits.txt", re.sub(r"(/actions/[a-z-]+)@.*", r"\1@PIN", text), update_goldens)


def test_a_mistake_is_refused_at_its_place_in_the_words_of_the_golden(update_goldens: bool) -> None:
    text = ""
    for edit in REFUSED:
        with pytest.raises(ConfigError) as refused:
            edited(edit)
        said = [str(problem) for problem in refused.value.problems]
        found = [each for each in said if edit["place"] in each.partition("\n")[0] and edit["said"] in each]
        assert found, (edit, said)
        assert re.match(rf"(workflows/spec/{edit['of']}|stacks/Pulumi\.\w+)\.yaml:\d+ ", found[0])
        text += "\n".join((f"## {edit.get('spec', '')} {edit.get('stacks', '')}", *said, "", ""))
    compared(FOLDER / "golden" / "refused.txt", text, update_goldens)


def test_a_specification_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match="no specification named nothing") as refused:
        load_spec(specs.the_lab(), "nothing", world())
    assert "marin" in str(refused.value)


def test_what_is_a_default_is_told_where_its_entry_stands() -> None:
    spec = specs.unedited("marin")
    assert str(spec.line("tests", 0, "suites", 0, "node")).startswith(f"{spec.line('tests', 0, 'suites', 0)}.node")


# What is told of results.


def test_every_leg_that_any_event_starts_is_kept_by_its_job_and_its_file() -> None:
    """By the names that GitHub gives them: of legs of runs of both events."""
    files, legs = specs.files("marin"), set()
    for name in ("levanter-tests.yaml", "marin-unit-tests.yaml"):
        for event in (push(repository="marin-community/marin"), pull_request(repository="marin-community/marin")):
            workflow = files[name].workflow.plain()
            for job in run(workflow, replace(event, paths=("lib/levanter/x.py",)), GIVEN).jobs:
                written = workflow["jobs"][job.id]
                (step,) = [each for each in written["steps"] if each.get("name") == "Test"]
                for leg in job.legs:
                    scope = Scope({"matrix": leg.matrix})
                    file = f"{expand(step['env']['LEG'], scope)}.xml"
                    legs.add((f".github/workflows/{name}", expand(written["name"], scope), file))
    request = read_result_request(specs.job(files["test-results.yaml"], "results")["env"]["REQUEST"])
    assert {(each.workflow, each.job, *each.files) for each in request.suites} == legs


ENDS = [
    ("passed", "success", "success"), ("failed", "failure", "success"), ("deleting failed", "success", "failure"),
    ("no VM", "", "failure"), ("time limit", "", "cancelled"), ("passed before", "", "skipped"),
    ("not set up", "", "skipped"),
]  # fmt: skip
"""What happened, how the tests ended, and their job."""


@pytest.mark.parametrize("name", ["tpu-nightly", "tpu-pull-request"])
def test_people_are_told_how_tests_ended_as_the_golden_says(name: str, update_goldens: bool) -> None:
    """With the result kept or not: of tests without a result, and of an identity that is not set up, no one hears that
    they failed."""
    lines = []
    for what, ended, result in ENDS:
        for kept in ("success", "failure"):
            needs = {
                "head": {"result": "success", "outputs": {"same": "true"}},
                "reuse": {"result": "success", "outputs": {"reused": "|tpu|" if what == "passed before" else ""}},
                "tests": {"result": result, "outputs": {"ended": ended}},
                "results": {"result": kept, "outputs": {"budget": "success"}},
            }
            variables = {} if what == "not set up" else GIVEN.variables
            scope = Scope({"needs": needs, "github": {}, "vars": variables, "inputs": {"sha": "f00dfeed" * 5}})
            lines.append(f"{what}, result kept: {kept}")
            for step in specs.job(made()[f"serving/{name}"][1], "report")["steps"]:
                env = {key.upper(): value for key, value in (step.get("with") or step.get("env") or {}).items()}
                if {"OUTCOME", "TEXT"} & env.keys():
                    said = [expand(env[key], scope) for key in ("OUTCOME", "TEXT") if key in env]
                    lines.append(f"  {step['name']}: {' | '.join(map(str, said))}")
    compared(FOLDER / "golden" / f"{name}-told.txt", "".join(f"{line}\n" for line in lines), update_goldens)


# This repository's own.


def test_a_new_stack_has_its_turn_in_every_file_that_goes_through_them() -> None:
    more = {**world().stacks, "archive": world().stacks["training"].model_copy(update={"stack": "archive"})}
    files = {Path(each.path).stem: each.whole().data for each in generate_own(replace(world(), stacks=more))}
    for name in ("plan", "apply", "drift"):
        loops = re.findall(r"for stack in .*?; do", str(files[name]))
        assert set(loops) == {"for stack in ci archive nightly training; do"}


@pytest.mark.parametrize(
    ("section", "changes", "said"),
    [
        ("github", {"environments": ("apply",)}, "apply-after-approval"),
        ("runners", {"job_minutes": 216}, "may take 361 minutes"),
    ],
)
def test_a_stack_that_an_apply_does_not_fit_is_refused(section: str, changes: dict[str, Any], said: str) -> None:
    ci = world().stacks["ci"]
    edited = ci.model_copy(update={section: getattr(ci, section).model_copy(update=changes)})
    with pytest.raises(ConfigError, match=said):
        generate_own(replace(world(), stacks={**world().stacks, "ci": edited}))
