"""What the labels of a VM that is made for one run say, and what says nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.model.names import is_label_key, is_label_value
from infra.model.run_labels import EXPIRES, RUN, RunVm, read

RUNS = st.from_regex(r"[0-9]{1,20}-[0-9]{1,3}", fullmatch=True)
TIMES = st.integers(0, 10**12 - 1)


@given(RUNS, TIMES)
def test_what_is_written_is_read_again_and_google_takes_it(run: str, expires: int) -> None:
    labels = RunVm(run, expires).labels()
    assert read(labels | {"tidepool-owner": "lab"}) == RunVm(run, expires)
    assert all(is_label_key(key) and is_label_value(value) for key, value in labels.items())


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {RUN: "1-1"},
        {EXPIRES: "1"},
        {RUN: "", EXPIRES: "1"},
        {RUN: "1-1", EXPIRES: "tomorrow"},
        {RUN: "1-1", EXPIRES: "-1"},
        {RUN: "1-1", EXPIRES: "1.5"},
        {RUN: "1-1", EXPIRES: "٣"},
        {RUN: "a/b", EXPIRES: "1"},
    ],
)
def test_labels_that_are_not_both_there_and_right_make_no_vm_anybodys_to_delete(labels: dict[str, str]) -> None:
    assert read(labels) is None


def test_a_vm_has_expired_from_its_second_on() -> None:
    assert not RunVm("1-1", 100).has_expired(99)
    assert RunVm("1-1", 100).has_expired(100)


@pytest.mark.parametrize("vm", [RunVm("1/1", 5), RunVm("", 5), RunVm("1-1", -1), RunVm("x" * 64, 5)])
def test_what_no_label_could_say_is_refused(vm: RunVm) -> None:
    with pytest.raises(ValueError, match="a run is 1 to 63"):
        vm.labels()
