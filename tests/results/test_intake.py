"""What test runners write is read, and what would harm the reader is refused."""

from __future__ import annotations

import json
import re
from typing import NoReturn

import pytest

from infra.results.intake import MOST_DEPTH, read_coverage, read_junit, read_timing, run_named, vm_seconds
from infra.results.suite_run import LONGEST_MESSAGE, LONGEST_NAME, MOST_TESTS_WRITTEN, Outcome, ResultsError
from tests.synthetic_lab import ROOT

JUNIT = b"""<?xml version="1.0"?>
<testsuites><testsuite name="pytest">
<testcase classname="t.A" name="fine" time="1.5"/>
<testcase classname="t.A" name="broken" time="0.5"><failure message="boom">line 1</failure></testcase>
<testcase classname="t.A" name="left" time="0"><skipped message="no TPU"/></testcase>
<testcase classname="t.A" name="again" time="1"><failure message="first try"/></testcase>
<testcase classname="t.A" name="again" time="2"/>
<testcase name="error"><error message="set-up"/></testcase>
</testsuite></testsuites>"""


def test_junit_xml_gives_outcomes_and_a_second_try_that_passed_is_flaky() -> None:
    found = {test.name: test for test in read_junit(JUNIT, "junit.xml")}
    assert {name: test.outcome.value for name, test in found.items()} == {
        "t.A.fine": "passed", "t.A.broken": "failed", "t.A.left": "skipped", "t.A.again": "flaky", "error": "failed",
    }  # fmt: skip
    assert found["t.A.again"].seconds == 3
    assert found["t.A.broken"].message.startswith("boom")


def test_a_document_that_is_one_suite_and_nested_suites_are_read() -> None:
    one = (
        b'<testsuite><testsuite name="inner"><testcase name="a" time="1"/></testsuite><testcase name="b"/></testsuite>'
    )
    assert [test.name for test in read_junit(one, "x")] == ["a", "b"]
    deep = b"<testsuite>" * 30 + b'<testcase name="a" time="1"/>' + b"</testsuite>" * 30
    assert [test.seconds for test in read_junit(deep, "x")] == [1], "each test once, however deep its suite is"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;&b;">]><testsuites>&d;</testsuites>', "document type"),
        (b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><testsuites/>', "document type"),
        (b"<testsuites>", "not XML"),
        (b"<html/>", "not JUnit"),
        (b"\xff\xfe\x00", "not XML"),
        (b'<?xml version="1.0" encoding="nonsense"?><testsuites/>', "not XML"),
        (b'<?xml version="1.0" encoding="shift_jis"?><testsuites/>', "not XML"),
        (b"<a>" * (MOST_DEPTH + 1) + b"</a>" * (MOST_DEPTH + 1), "nested deeper"),
    ],
    ids=["bomb", "external", "cut-off", "other", "bytes", "unknown-encoding", "wide-encoding", "deep"],
)
def test_hostile_xml_is_refused_before_it_is_expanded(content: bytes, said: str) -> None:
    with pytest.raises(ResultsError, match=said):
        read_junit(content, "junit.xml")


def test_large_files_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infra.results.intake.MOST_BYTES", 100)
    with pytest.raises(ResultsError, match="at most 100"):
        read_junit(JUNIT, "junit.xml")
    monkeypatch.setattr("infra.results.intake.MOST_ELEMENTS", 3)
    with pytest.raises(ResultsError, match="more than 3 elements"):
        read_junit(b"<testsuites>" + b"<testcase/>" * 4 + b"</testsuites>", "j.xml")


def test_a_file_with_too_many_tests_is_refused_before_any_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    many = MOST_TESTS_WRITTEN + 1

    def made(*_: object, **__: object) -> NoReturn:
        pytest.fail("work was done for a file that is refused")

    monkeypatch.setattr("infra.results.intake.ET.fromstring", made)
    monkeypatch.setattr("infra.results.intake.Test", made)
    with pytest.raises(ResultsError, match=r"j\.xml: more than 50,000 tests"):
        read_junit(b"<testsuite>" + b"<testcase/>" * many + b"</testsuite>", "j.xml")
    tests = {str(at): {"seconds": 1, "outcome": "passed"} for at in range(many)}
    with pytest.raises(ResultsError, match=r"t\.json: more than 50,000 tests"):
        read_timing(json.dumps({"ok": True, "seconds": 1, "tests": tests}).encode(), "t.json")


def test_texts_of_strangers_are_cut_and_have_no_control_characters() -> None:
    name, said = "n" * 1000, "m" * 5000
    xml = f'<testsuite><testcase name="{name}"><failure message="{said}&#9;"/></testcase></testsuite>'
    (test,) = read_junit(xml.encode(), "x")
    assert (len(test.name), len(test.message)) == (LONGEST_NAME, LONGEST_MESSAGE)


@pytest.mark.parametrize("seconds", ["abc", "nan", "inf", "1e300"])
def test_a_time_that_is_none_is_refused_by_name(seconds: str) -> None:
    with pytest.raises(ResultsError, match=r"^junit\.xml "):
        read_junit(f'<testsuite><testcase name="a" time="{seconds}"/></testsuite>'.encode(), "junit.xml")


def test_a_test_that_ran_again_and_took_longer_than_a_run_may_is_refused() -> None:
    case = b'<testcase name="a" time="2000000"/>'
    with pytest.raises(ResultsError, match="a test that ran several times cannot be kept"):
        read_junit(b"<testsuite>" + 2 * case + b"</testsuite>", "junit.xml")


def test_a_number_that_no_float_can_be_is_a_mistake_of_the_file() -> None:
    huge = b"1" + b"0" * 400
    for body in (b'"seconds": ' + huge, b'"seconds": 1, "coverage": ' + huge):
        with pytest.raises(ResultsError, match="is not the timing JSON"):
            read_timing(b'{"ok": true, "tests": {}, ' + body + b"}", "t.json")
    assert vm_seconds(b'{"vm_seconds": ' + huge + b"}") == 0


def test_a_name_is_one_line_and_a_test_without_one_has_a_word_for_it() -> None:
    xml = b'<testsuite><testcase name="a&#10;::error::b&#x85;c"/><testcase name=" "/><testcase/></testsuite>'
    assert [test.name for test in read_junit(xml, "x")] == ["(without a name)", "a ::error::b c"]
    body = b'{"ok": true, "seconds": 1, "tests": {"a\\n::error::b": {"seconds": 1, "outcome": "passed"}}}'
    assert [test.name for test in read_timing(body, "t.json")["tests"]] == ["a ::error::b"]


def test_two_tests_whose_long_names_end_differently_stay_two() -> None:
    long = "n" * LONGEST_NAME
    xml = f'<testsuite><testcase name="{long}1"><failure/></testcase><testcase name="{long}2"/></testsuite>'
    assert {test.outcome for test in read_junit(xml.encode(), "x")} == {Outcome.FAILED, Outcome.PASSED}


def test_coverage_is_that_of_lines_and_the_dtd_of_coverage_py_is_not_fetched() -> None:
    doctype = b"<!DOCTYPE coverage SYSTEM 'http://cobertura.sourceforge.net/xml/coverage-04.dtd'>"
    assert read_coverage(doctype + b'<coverage lines-valid="8" lines-covered="6" line-rate="0.1"/>', "c.xml") == 75
    for rate in (0, 0.5, 1):
        assert read_coverage(f'<coverage line-rate="{rate}"/>'.encode(), "c.xml") == 100 * rate
    assert run_named(b'<testsuite name="7-1"/>') == "7-1"
    with pytest.raises(ResultsError, match=r"^JUnit XML is not XML"):
        run_named(b"<")
    assert [run_named(text) for text in (b'{"run": "7-1"}', b"{}")] == ["7-1", ""]
    for bad in (
        b"<coverage/>",
        b"<other/>",
        b'<coverage line-rate="1.01"/>',
        b'<coverage line-rate="-0.01"/>',
        b'<coverage lines-valid="1" lines-covered="1' + b"0" * 400 + b'"/>',
        b'<!DOCTYPE c [<!ENTITY a "b">]><coverage/>',
    ):
        with pytest.raises(ResultsError):
            read_coverage(bad, "c.xml")


@pytest.mark.parametrize(
    "bad", [b"[]", b"{", b'{"tests": {"a": {"seconds": "x", "outcome": "passed"}}}', b"[" * 100_000], ids=len
)
def test_what_is_no_timing_json_is_refused(bad: bytes) -> None:
    with pytest.raises(ResultsError):
        read_timing(bad, "t.json")


def test_the_timing_file_of_the_page_is_one() -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    said = read_timing(shown.encode(), "page.json")
    assert (said["ended"], said["seconds"], said["coverage"], said["missing"]) == ("failed", 46.2, 81.5, ())
    assert [(test.outcome, test.seconds) for test in said["tests"]] == [("failed", 1.2), ("passed", 0.4)]
    for left_out in ("coverage", "missing"):
        less = {name: value for name, value in json.loads(shown).items() if name != left_out}
        assert read_timing(json.dumps(less).encode(), "page.json")["ended"] == "failed"
