"""Machine steps of one stage, as a VM runs them."""

from __future__ import annotations

from pathlib import Path

from infra.fleet.runner.supervisor import effects as e
from infra.fleet.runner.supervisor.disk import Disk
from infra.fleet.runner.supervisor.machine import Machine
from infra.fleet.runner.supervisor.state import State

STEP = """\
touch "$1"
for _ in {1..600}; do if [[ -e $2 ]]; then break; fi; sleep 0.05; done
printf '%s' "because of $0" >"$TIDEPOOL_BLAME"
[[ -e $2 ]] && exit "$3"
"""


def test_steps_run_side_by_side_and_each_has_a_reason_of_its_own(tmp_path: Path) -> None:
    steps, meets = tmp_path / "steps", [str(tmp_path / name) for name in ("one", "other")]
    steps.mkdir()
    for name in ("one", "other", "third"):
        (steps / f"{name}.sh").write_text(STEP)
    state = State()
    disk = Disk(tmp_path / "state")
    disk.root.mkdir()

    def boots() -> e.Steps[tuple[e.Ended, ...]]:
        one = e.RunStep("steps/one", (*meets, "1"))
        other = e.RunStep("steps/other", (*reversed(meets), "0"))
        third = e.RunStep("steps/third", (*meets, "1"))
        return (yield e.RunSteps((one, other, third)))

    ended = Machine(tmp_path, tmp_path, disk, state).carry_out(boots())
    failed = [e.Failed(f"because of {steps}/{name}.sh") for name in ("one", "third")]
    assert [each.failed for each in ended] == [failed[0], None, failed[1]]
    assert all(each.seconds > 0 for each in ended)
