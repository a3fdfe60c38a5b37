"""A VM made for a run is deleted, whatever fails and wherever the run is cancelled: the generated shell, run."""

from __future__ import annotations

import base64
import gzip
import json
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from infra.model.stack import load_stack
from infra.model.stack_text import stack_names
from tests.synthetic_lab import the_lab
from tests.workflows.sandbox.generated import DIGEST, VARIABLES, Asked, jobs
from tests.workflows.sandbox.programs import START, Programs
from tests.workflows.sandbox.running import JobEnd, Runner, named

ROOT = Path(__file__).parents[2]
RUN, ATTEMPT = "1", "1-1"
CREATE, FOLLOW, DELETE = "create", "Follow what it runs", "Delete it"
PHASE = {"phase": "running"}
PACE = 120
"""How many times as long every sleep is, so that hours take few turns."""


def steps(asked: Asked) -> list[dict[str, Any]]:
    return asked.workflow["jobs"][asked.job]["steps"]


MAKING = tuple(each for each in jobs() if any(step.get("id") == CREATE for step in steps(each)))
"""The jobs that make a VM, and below, those that make sure of its end."""
SURE = {each.file: each for each in jobs() if each.job == "clean-up"}
ONE = pytest.mark.parametrize("asked", MAKING[:1], ids=str)
"""Enough where the shell alone matters, which is the same in all."""
HEAVY = pytest.mark.heavy
EACH = pytest.mark.parametrize(
    "asked", [pytest.param(each, marks=HEAVY if number else ()) for number, each in enumerate(MAKING)], ids=str
)


def created(asked: Asked) -> str:
    return next(named(step) for step in steps(asked) if step.get("id") == CREATE)


def env(asked: Asked, step: str = "") -> Mapping[str, Any]:
    job = asked.workflow["jobs"][asked.job]
    return job["env"] | next((each.get("env", {}) for each in steps(asked) if step and named(each) == step), {})


def hosts(asked: Asked, **told: str) -> list[dict[str, str]]:
    """What every host says of itself."""
    return [{**PHASE, **told} for _ in range(int(env(asked)["HOSTS"]))]


class Machine:
    """Runs jobs with one set of stand-ins, each on a machine of its own, as GitHub does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = Programs(folder / "programs")
        record = {"images": {"levanter-incremental": {"current": {"digest": DIGEST}}}}
        self.programs.answer("gcloud", "^storage cat", out=json.dumps(record))
        self.programs.hurry(PACE)
        self._count = 0

    def run(self, asked: Asked, zones: str = "", **runner: Any) -> JobEnd:
        self._count += 1
        machine = Runner(
            folder=self.folder / f"machine-{self._count}", programs=self.programs, variables=VARIABLES,
            composites=asked.actions, **runner,
        )  # fmt: skip
        return machine.run(_in_zones(asked, zones), asked.job, asked.event, needs=asked.needs)

    def gcloud(self, verb: str) -> list[list[str]]:
        """The arguments of each call behind `gcloud compute tpus tpu-vm VERB`."""
        found = [list(call.argv) for call in self.programs.calls() if call.program == "gcloud"]
        return [argv[4:] for argv in found if argv[:4] == ["compute", "tpus", "tpu-vm", verb]]


def _in_zones(asked: Asked, zones: str) -> Mapping[str, Any]:
    """The file with other zones."""
    if not zones:
        return asked.written
    changed = {job: {**spec, "env": {**spec["env"], "ZONES": zones}} if "ZONES" in spec.get("env", {}) else spec
               for job, spec in asked.written["jobs"].items()}  # fmt: skip
    return {**asked.written, "jobs": changed}


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    made.programs.close()


def well(machine: Machine, asked: Asked, **plan: Any) -> None:
    """Every host runs the command and ends it."""
    machine.programs.vms(attributes=[[], hosts(asked), hosts(asked, outcome="0", log="done")], **plan)


def test_the_shell_about_the_vm_is_written_once() -> None:
    for wanted in (CREATE, "follow"):
        assert len({step["run"] for each in MAKING for step in steps(each) if step.get("id") == wanted}) == 1
    deleting = [step for each in (*MAKING, *SURE.values()) for step in steps(each) if named(step) == DELETE]
    assert len(deleting) == len(MAKING) + len(SURE)
    assert len({step["run"] for step in deleting}) == 1


# A run that goes well.


@EACH
def test_a_run_that_ends_well_leaves_no_vm(machine: Machine, asked: Asked) -> None:
    well(machine, asked)
    done = machine.run(asked)
    assert (done.result, machine.programs.standing()) == ("success", {})
    assert "| done" in done.step(FOLLOW).said


@ONE
def test_what_a_run_printed_cannot_begin_a_line_of_githubs_log(machine: Machine, asked: Asked) -> None:
    """GitHub's runner takes `::command::` at the start of a line, and ends lines at carriage returns too."""
    printed = "done\r::add-mask::a\n::error::b\x1b[2J\x85::error::c\n"
    machine.programs.vms(attributes=[[], hosts(asked), hosts(asked, outcome="0", log=printed)])
    said = machine.run(asked).step(FOLLOW).said
    assert "| done?::add-mask::a\n| ::error::b?[2J" in said
    assert not [each for each in said.splitlines() if each.startswith("::")]
    assert "\x1b" not in said


@EACH
def test_a_vm_says_whose_it_is_and_until_when(machine: Machine, asked: Asked) -> None:
    well(machine, asked)
    machine.run(asked)
    [argv] = machine.gcloud("create")
    [labels] = [word for word in argv if word.startswith("--labels=")]
    told = dict(pair.split("=") for pair in labels.removeprefix("--labels=").split(","))
    assert told["tidepool-run"] == RUN
    assert int(told["tidepool-expires"]) == START + int(env(asked, created(asked))["LIFETIME"])


@EACH
def test_what_the_vm_is_told_arrives_word_by_word(machine: Machine, asked: Asked) -> None:
    well(machine, asked)
    machine.programs.answer("gcloud", "tpu-vm delete", code=1)
    machine.run(asked)
    [vm] = [vm for vms in machine.programs.standing().values() for vm in vms.values()]
    said = env(asked, created(asked))
    assert vm["metadata"]["startup-script"] == said["BOOT"]
    assert vm["metadata"]["tidepool-command"] == said["COMMAND"].replace("{run}", ATTEMPT)
    assert vm["metadata"]["tidepool-secrets"] == said["VM_SECRETS"]
    assert "{run}" not in vm["metadata"]["tidepool-command"]


# Whatever fails.


@HEAVY
@pytest.mark.parametrize(
    ("asked", "failing"), [(each, named(step)) for each in MAKING for step in steps(each)], ids=lambda each: str(each)
)
def test_a_step_that_fails_leaves_no_vm_once_both_jobs_are_over(machine: Machine, asked: Asked, failing: str) -> None:
    well(machine, asked)
    done = machine.run(asked, failing=frozenset({failing}))
    assert done.result == "failure"
    if failing != DELETE:
        assert machine.programs.standing() == {}, "the job deletes it by itself"
    assert machine.run(SURE[asked.file]).result == "success"
    assert machine.programs.standing() == {}


@HEAVY
@ONE
def test_a_zone_without_capacity_is_followed_by_the_next(machine: Machine, asked: Asked) -> None:
    well(machine, asked, create={"us-a1-a": ["stockout"]})
    done = machine.run(asked, zones="us-a1-a us-b1-b")
    assert done.result == "success"
    assert done.step(created(asked)).outputs["zone"] == "us-b1-b"
    assert [argv[1] for argv in machine.gcloud("create")] == ["--zone=us-a1-a", "--zone=us-b1-b"]
    assert "--subnetwork=" in " ".join(machine.gcloud("create")[1])
    assert "regions/us-b1/" in " ".join(machine.gcloud("create")[1])


@EACH
def test_a_vm_of_a_fork_pool_has_no_address_of_its_own(machine: Machine, asked: Asked) -> None:
    well(machine, asked)
    machine.run(asked)
    [argv] = machine.gcloud("create")
    pools = {pool.name: pool for stack in stack_names(the_lab()) for pool in load_stack(the_lab(), stack).pools}
    (pool,) = (each for name, each in pools.items() if argv[0].startswith(f"{name}-run-"))
    assert ("--internal-ips" in argv) is not pool.external_ip


@HEAVY
@ONE
def test_zones_that_all_have_nothing_fail_the_job_after_as_many_rounds_as_are_allowed(
    machine: Machine, asked: Asked
) -> None:
    well(machine, asked, create={zone: ["stockout"] * 9 for zone in ("us-a1-a", "us-b1-b")})
    done = machine.run(asked, zones="us-a1-a us-b1-b")
    attempts = int(env(asked, created(asked))["ATTEMPTS"])
    assert done.result == "failure"
    assert len(machine.gcloud("create")) == 2 * attempts
    assert f"::error::no zone of us-a1-a us-b1-b had {env(asked)['ACCELERATOR']} in {attempts} rounds" in (
        done.step(created(asked)).said
    )
    assert done.step(FOLLOW).outcome == "skipped"


@HEAVY
@ONE
def test_a_vm_whose_answer_was_lost_is_deleted_before_another_zone_is_tried(machine: Machine, asked: Asked) -> None:
    well(machine, asked, create={"us-a1-a": ["lost"]})
    done = machine.run(asked, zones="us-a1-a us-b1-b")
    assert (done.result, machine.programs.standing()) == ("success", {})
    assert machine.gcloud("delete")[0][1] == "--zone=us-a1-a"


@ONE
def test_a_vm_whose_answer_was_lost_and_that_is_not_yet_to_be_deleted_is_found_by_its_label(
    machine: Machine, asked: Asked
) -> None:
    well(machine, asked, create={"us-a1-a": ["lost"]}, delete=2)
    done = machine.run(asked, zones="us-a1-a us-b1-b")
    assert (done.result, machine.programs.standing()) == ("success", {})
    assert f"--filter=labels.tidepool-run={RUN}" in machine.gcloud("list")[0]


@HEAVY
@ONE
def test_a_delete_or_a_listing_that_is_refused_is_tried_again(machine: Machine, asked: Asked) -> None:
    well(machine, asked, delete=2, list=2)
    done = machine.run(asked)
    assert (done.result, machine.programs.standing()) == ("success", {})


@HEAVY
@ONE
@pytest.mark.parametrize("refused", ["delete", "list"])
def test_a_vm_that_cannot_be_deleted_is_told_and_fails_both_jobs(machine: Machine, asked: Asked, refused: str) -> None:
    well(machine, asked, **{refused: 999})
    done = machine.run(asked)
    assert done.result == "failure"
    assert "::error::not deleted:" in done.step(DELETE).said
    assert machine.run(SURE[asked.file]).result == "failure"


@HEAVY
@ONE
def test_a_vm_of_another_run_stays(machine: Machine, asked: Asked) -> None:
    zone = str(env(asked)["ZONES"]).split()[0]
    machine.programs.stand(zone, "another", **{"tidepool-run": "2"})
    well(machine, asked)
    machine.run(asked)
    machine.run(SURE[asked.file])
    assert list(machine.programs.standing()[zone]) == ["another"]


@ONE
def test_what_an_earlier_attempt_of_the_run_left_goes_with_the_next_clean_up(machine: Machine, asked: Asked) -> None:
    zone = str(env(asked)["ZONES"]).split()[0]
    machine.programs.stand(zone, "left", **{"tidepool-run": RUN})
    assert machine.run(SURE[asked.file]).result == "success"
    assert not machine.programs.standing().get(zone)


# Waiting.


@HEAVY
@ONE
def test_a_vm_that_never_gets_ready_fails_the_job_at_its_limit(machine: Machine, asked: Asked) -> None:
    machine.programs.vms()
    done = machine.run(asked)
    limit = int(env(asked, FOLLOW)["READY_SECONDS"])
    assert done.result == "failure"
    assert f"::error::0 of {env(asked)['HOSTS']} hosts were ready after {limit} s" in done.step(FOLLOW).said
    assert "ended" not in done.step(FOLLOW).outputs
    assert limit <= waited(machine) < limit + 2 * PACE * int(env(asked, FOLLOW)["POLL_SECONDS"])
    assert machine.programs.standing() == {}


@HEAVY
@ONE
def test_a_command_that_never_ends_fails_the_job_at_its_limit(machine: Machine, asked: Asked) -> None:
    machine.programs.vms(attributes=[[], hosts(asked)])
    done = machine.run(asked)
    limit = int(env(asked)["LIMIT"])
    assert done.result == "failure"
    assert f"::error::the command did not end within {limit} s" in done.step(FOLLOW).said
    assert done.step(FOLLOW).outputs["ended"] == "failure"
    assert limit <= waited(machine) < limit + 2 * PACE * int(env(asked, FOLLOW)["POLL_SECONDS"])
    assert machine.programs.standing() == {}


def waited(machine: Machine) -> int:
    return int((machine.programs.folder / "clock").read_text()) - START


@ONE
def test_a_command_that_fails_on_one_host_fails_the_job(machine: Machine, asked: Asked) -> None:
    machine.programs.vms(attributes=[[*hosts(asked)[1:], {**PHASE, "outcome": "3", "log": "::error::no\nit broke"}]])
    done = machine.run(asked)
    assert done.result == "failure"
    assert "::error::a host ended with exit code 3" in done.step(FOLLOW).said
    assert "| ::error::no\n| it broke" in done.step(FOLLOW).said, "a line of what ran is no command of the runner's"
    assert machine.programs.standing() == {}


@ONE
def test_a_vm_that_is_taken_away_is_told_as_that(machine: Machine, asked: Asked) -> None:
    well(machine, asked, states=["READY", "PREEMPTED"])
    machine.programs.vms(attributes=[[]], states=["READY", "PREEMPTED"])
    done = machine.run(asked)
    assert done.result == "failure"
    assert "the VM is PREEMPTED" in done.step(FOLLOW).said
    assert machine.programs.standing() == {}


@HEAVY
@ONE
def test_a_vm_that_is_asked_in_vain_for_a_while_is_asked_again(machine: Machine, asked: Asked) -> None:
    well(machine, asked)
    machine.programs.answer("gcloud", "tpu-vm (describe|get-guest-attributes)", code=1, err="UNAVAILABLE", times=3)
    assert machine.run(asked).result == "success"


# Cancelled.


@EACH
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM], ids=["interrupted", "ended"])
def test_a_run_that_is_cancelled_while_its_vm_is_made_leaves_none(
    machine: Machine, asked: Asked, by: signal.Signals
) -> None:
    machine.programs.vms(create={"us-a1-a": ["hang"]})
    done = machine.run(asked, zones="us-a1-a us-b1-b", cancelled_in=created(asked), by=by)
    assert done.result == "cancelled"
    assert done.step(created(asked)).code == 143, "the step ends itself, before the runner kills it"
    assert done.step(FOLLOW).outcome == "skipped"
    assert done.step(DELETE).outcome == "success"
    assert machine.programs.standing() == {}
    assert len(machine.gcloud("create")) == 1


@ONE
def test_a_run_that_is_cancelled_while_it_is_followed_leaves_no_vm(machine: Machine, asked: Asked) -> None:
    machine.programs.vms()
    machine.programs.answer("gcloud", "tpu-vm describe", blocks=True)
    done = machine.run(asked, cancelled_in=FOLLOW, by=signal.SIGTERM)
    assert (done.result, machine.programs.standing()) == ("cancelled", {})


@ONE
def test_a_machine_that_is_lost_leaves_its_vm_to_the_second_job(machine: Machine, asked: Asked) -> None:
    machine.programs.vms()
    machine.run(asked, failing=frozenset({DELETE}))
    assert machine.programs.standing()
    done = machine.run(SURE[asked.file])
    assert (done.result, machine.programs.standing()) == ("success", {})


# The result of the serving engine's tests.

RESULT = pytest.mark.parametrize(
    "asked", [each for each in MAKING if any(named(step) == "Read the result" for step in steps(each))][:1], ids=str
)


@RESULT
@pytest.mark.parametrize("failing", ["", DELETE])
def test_tests_that_were_green_stay_so_where_deleting_failed(machine: Machine, asked: Asked, failing: str) -> None:
    well(machine, asked)
    done = machine.run(asked, failing=frozenset({failing}))
    assert (done.result, done.outputs["ended"]) == ("failure" if failing else "success", "success")


@RESULT
@pytest.mark.parametrize("code", ["1", "71", "124"])
def test_tests_that_failed_are_told_as_that(machine: Machine, asked: Asked, code: str) -> None:
    machine.programs.vms(attributes=[hosts(asked, outcome=code)])
    done = machine.run(asked)
    assert (done.result, done.outputs["ended"]) == ("failure", "failure")


@RESULT
@pytest.mark.parametrize("lost", ["no VM", "taken away", "started again", "could not begin"])
def test_where_nothing_was_tested_the_job_says_nothing_of_the_tests(machine: Machine, asked: Asked, lost: str) -> None:
    if lost == "no VM":
        machine.programs.vms(create={"us-a1-a": ["stockout"] * 9})
    elif lost == "taken away":
        machine.programs.vms(attributes=[hosts(asked, outcome="1")], states=["PREEMPTED"])
    else:
        machine.programs.vms(attributes=[hosts(asked, outcome="75" if lost == "started again" else "70")])
    done = machine.run(asked, zones="us-a1-a")
    assert (done.result, done.outputs["ended"]) == ("failure", "")


@HEAVY
@RESULT
@pytest.mark.parametrize("said", ["", "no base64 !", base64.b64encode(b"no gzip").decode()])
def test_a_result_that_is_none_counts_as_none(machine: Machine, asked: Asked, said: str) -> None:
    result = _result(machine, asked, said)
    assert (result["tests"], result["ok"]) == ({}, True)


@RESULT
def test_a_vm_cannot_say_of_itself_whether_it_did_well(machine: Machine, asked: Asked) -> None:
    claimed = {"ok": False, "commit": "0" * 40, "run": "9-9", "tests": {"a": "passed"}, "seconds": 12.5}
    packed = base64.b64encode(gzip.compress(json.dumps(claimed).encode())).decode()
    result = _result(machine, asked, packed)
    assert result["tests"] == {"a": "passed"}
    assert (result["ok"], result["run"]) == (True, ATTEMPT)
    assert result["commit"] != "0" * 40


def _result(machine: Machine, asked: Asked, said: str) -> dict[str, Any]:
    machine.programs.vms(attributes=[hosts(asked, outcome="0", result=said)])
    machine.run(asked)
    [written] = machine.folder.glob("machine-1/temp/results/*.json")
    return json.loads(written.read_text())
