"""The commands of the local cloud, on one that a command has started: what each answers, and what is refused."""

from __future__ import annotations

import pytest

from bench.cloud import daemon
from tests.cli.conftest import Checkout

PLACE = "--zone us-west4-a"
REFUSED = (
    ("fail stokout", 2, "Did you mean 'stockout'?"),
    ("fail error --zone us-west4a", 2, "us-west4a is not a zone or region. Did you mean 'us-west4-a'?"),
    ("fail lag", 1, "lag needs seconds"),
    ("clock --advance=-1h", 2, ""),
    ("clock --advance=3x", 2, ""),
    ("limit us-west4-a", 2, ""),
    ("preempt nobody", 1, "nobody"),
    ("maintain nobody", 1, "nobody"),
    ("push levanter --changed a", 1, "OWNER/NAME"),
    ("push a/b --branch x --tag y", 2, ""),
    ("push a/b --commit main", 1, "forty"),
    (f"node add stray {PLACE} --managed ci", 2, ""),
    ("node remove stray", 1, "stray"),
    ("runner lose stray", 1, "stray"),
    ("job end 7", 1, "7"),
    ("reset", 2, "--yes"),
)
ANSWERED = (
    # Words, and what is printed; in order, on one cloud.
    ("fail error --zone us-west4-a --code 429 --count 3", "1   error  us-west4-a  429"),
    ("fail --mend-all", "no faults\n"),
    ("fail hang --method *.delete --late 2h --count 1", "hang  *.delete  7200.0   1\n"),
    ("fail missing --probability 0.5 --seed 7", "missing"),
    ("fail unreachable --zone us-west4-* --for 10m", "us-west4-*"),
    ("fail rate --per-minute 0", "rate"),
    ("fail --mend-all", "no faults\n"),
    ("clock --compression 1", "divided by 1)"),
    ("clock --compression 1000", "divided by 1000)"),
    ("limit us-west4-a v5e 8", "hai-gcp-models  us-west4-a  v5e         preemptible  8      0"),
    ("limit us-central2-b v4 64 --capacity reserved --name lab --held-elsewhere 16", "reserved     64     0     16"),
    ("limit us-west4-a v5e", "reserved"),
    ("guests", "no guests\n"),
    (f"node add stray {PLACE} --managed ci/tpu-ci", "stray"),
    ("node list", "stray  v5litepod-4      READY\n"),
    ("node remove stray", "stray is gone\n"),
    ("job list", "no jobs\n"),
    ("status", "nodes            {}\n"),
)


def test_each_command_answers(clouded: Checkout) -> None:
    for words, said in ANSWERED:
        assert said in clouded.ok("cloud", *words.split()).stdout, words


@pytest.mark.parametrize(("words", "code", "said"), REFUSED)
def test_what_cannot_be_is_refused_with_the_nearest(clouded: Checkout, words: str, code: int, said: str) -> None:
    result = clouded.run("cloud", *words.split())
    assert (result.exit_code, said in result.output) == (code, True), result.output


def test_a_cloud_of_another_version_is_told_of(clouded: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "code", lambda: "newer")
    told = clouded.run("preview", "nightly")
    assert "was started by another version of Tidepool" in " ".join(told.output.split())


def test_the_log_shows_requests_and_refusals(clouded: Checkout) -> None:
    before = clouded.json("cloud", "log", "--failed")["entries"]
    assert clouded.run("manifest", "show", "ci").exit_code == 1
    found = clouded.json("cloud", "log")["entries"]
    assert {"storage.objects.get", "storage.buckets.get"} <= {each["method"] for each in found if each["status"] == 404}
    failed = clouded.json("cloud", "log", "--failed")["entries"]
    its_own = {each["method"] for each in failed if each not in before}
    assert its_own == {"storage.buckets.get"}, "a record that is not there is no failure"


def test_state_outlives_a_stop_and_ends_with_a_reset(clouded: Checkout) -> None:
    first = clouded.json("cloud", "start")
    assert clouded.json("cloud", "start") == first
    clouded.ok("cloud", "limit", "us-west4-a", "v5e", "8")
    assert [clouded.json("cloud", "stop") for _ in range(2)] == [{"stopped": True}, {"stopped": False}]
    assert clouded.json("cloud", "status") == {"running": False, "url": None, "pid": None, "nodes": {}}
    assert "start it with `./tidepool cloud start`" in clouded.run("cloud", "preempt", "x").stderr
    clouded.ok("cloud", "start")
    assert any(limit["chips"] == 8 for limit in clouded.json("cloud", "limit")["limits"])
    assert clouded.json("cloud", "reset", "--yes") == {"reset": True, "exit": 0}
    assert clouded.json("cloud", "reset", "--yes")["reset"] is False
    clouded.ok("cloud", "start")
