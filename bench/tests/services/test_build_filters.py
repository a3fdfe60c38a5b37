"""Files of triggers and variables of builds, read as Cloud Build reads them."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.cloud.errors import ApiError
from bench.cloud.services.cloudbuild import substitutions
from bench.cloud.services.cloudbuild import triggers as globs
from infra.model.images import globs as filters


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("README.md", "README.md", True),
        ("README.md", "docs/README.md", False),
        ("*.md", "README.md", True),
        ("*.md", "docs/README.md", False),
        ("*", ".dockerignore", True),
        ("*", "a/b", False),
        ("images/*", "images/tpu-ci/Dockerfile", False),
        ("images/*/Dockerfile", "images/tpu-ci/Dockerfile", True),
        ("**", "a", True),
        ("**", "a/b/.c", True),
        ("images/**", "images/tpu-ci/Dockerfile", True),
        ("images/**", "images/.hidden", True),
        ("images/**", "images", False),
        ("images/**", "imagesx/a", False),
        ("**/uv.lock", "uv.lock", True),
        ("**/uv.lock", "lib/levanter/uv.lock", True),
        ("**/uv.lock", "lib/xuv.lock", False),
        ("lib/**/pyproject.toml", "lib/pyproject.toml", True),
        ("lib/**/pyproject.toml", "lib/a/b/pyproject.toml", True),
        ("lib/**/*.py", "lib/a/b.py", True),
        ("a**", "a/b", False),
        ("a**", "abc", True),
        ("?.py", "a.py", True),
        ("?.py", "/.py", False),
        ("?.py", "ab.py", False),
        ("[a-c].py", "b.py", True),
        ("[a-c].py", "d.py", False),
        ("[^a-c].py", "d.py", True),
        ("[^a-c].py", "b.py", False),
        ("[!a].py", "!.py", True),
        ("[!a].py", "b.py", False),
        ("[[:alpha:].py", "h.py", True),
        (r"\*.py", "*.py", True),
        (r"\*.py", "a.py", False),
        ("{a,b}.py", "a.py", False),
        ("{a,b}.py", "{a,b}.py", True),
        ("!a.py", "a.py", False),
        ("!a.py", "!a.py", True),
        ("@(a|b).py", "a.py", False),
        ("~/a", "~/a", True),
        ("Images/**", "images/a", False),
        ("/images/**", "images/a", False),
    ],
)
def test_a_file_filter_is_go_s_match_with_folders(pattern, path, expected):
    assert globs.glob_problem(pattern) is None
    assert globs.matches(path, pattern) is expected


@pytest.mark.parametrize("pattern", ["[a", "[]", "a[b", "a\\"])
def test_a_broken_file_filter_is_named(pattern):
    assert pattern in (globs.glob_problem(pattern) or "")


PART = st.one_of(st.just("**"), st.text("ab.*-", min_size=1, max_size=4).filter(lambda part: "**" not in part))
PATH = st.lists(st.text("ab.-", min_size=1, max_size=3).filter(lambda part: part.strip(".")), min_size=1, max_size=4)


@given(st.lists(PART, min_size=1, max_size=4), PATH)
def test_images_yaml_and_cloud_build_read_a_filter_alike(parts, path):
    pattern = "/".join(parts)
    if filters.is_path_filter(pattern):
        assert globs.matches("/".join(path), pattern) == filters.matches("/".join(path), pattern)


@pytest.mark.parametrize(
    ("included", "ignored", "changed", "expected"),
    [
        ([], [], [], []),
        ([], [], ["a"], ["a"]),
        ([], ["docs/**"], ["docs/a"], []),
        ([], ["docs/**"], ["docs/a", "b"], ["b"]),
        (["images/**"], [], ["docs/a"], []),
        (["images/**"], [], ["docs/a", "images/b"], ["images/b"]),
        (["images/**"], ["**/*.md"], ["images/README.md"], []),
        (["images/**", "uv.lock"], ["**/*.md"], ["images/README.md", "uv.lock"], ["uv.lock"]),
    ],
)
def test_ignored_files_are_taken_away_before_included_ones_are_looked_for(included, ignored, changed, expected):
    assert globs.passing(changed, included=included, ignored=ignored) == expected


def test_variables_are_filled_in_everywhere_but_in_scripts():
    build = {
        "steps": [{"name": "x", "args": ["$_A-${COMMIT_SHA}", "$$HOME", "$_NONE|", "$1 $a"], "script": "echo $_A"}],
        "substitutions": {"_A": "$COMMIT_SHA"},
    }
    done = substitutions.applied(build, {"_A": "1", "COMMIT_SHA": "f00"})
    assert done["steps"][0]["args"] == ["1-f00", "$HOME", "|", "$1 $a"]
    assert done["steps"][0]["script"] == "echo $_A"
    assert done["substitutions"] == {"_A": "$COMMIT_SHA"}


def test_substitutions_may_name_one_another_but_not_in_a_circle():
    own = {"_PLACE": "$_HOST/x:${SHORT_SHA}", "_HOST": "us-docker.pkg.dev"}
    assert substitutions.resolved(own, {"SHORT_SHA": "abc"})["_PLACE"] == "us-docker.pkg.dev/x:abc"
    with pytest.raises(ApiError, match="_A -> _B -> _A"):
        substitutions.resolved({"_A": "$_B", "_B": "$_A"}, {})


@pytest.mark.parametrize(
    ("binding", "expected"),
    [
        ("$(body.message.attributes.image)", "tpu-ci"),
        ("$(body.message.attributes.none)", ""),
        ("$(body.message.data.images[1])", "b"),
        ("$(body.message.data.images[7])", ""),
        ("$(body.message.data.images)", '["a","b"]'),
        ("at $(body.message.messageId)!", "at 17!"),
    ],
)
def test_a_message_gives_values_to_substitutions(binding, expected):
    data = base64.b64encode(b'{"images": ["a", "b"]}').decode()
    message = {"data": data, "attributes": {"image": "tpu-ci"}, "messageId": "17"}
    heard = substitutions.Heard(message, {"_X"})
    assert substitutions.resolved({"_X": binding}, {}, heard) == {"_X": expected}
    assert substitutions.resolved({"_OF_THE_BUILD": binding}, {}, heard) == {"_OF_THE_BUILD": binding}


def test_the_text_of_a_message_that_is_no_json_is_taken_as_it_is():
    message = {"data": base64.b64encode(b"weekly").decode()}
    heard = substitutions.Heard(message, {"_X"})
    assert substitutions.resolved({"_X": "$(body.message.data)"}, {}, heard) == {"_X": "weekly"}


def test_what_a_message_says_is_never_read_as_a_variable():
    heard = substitutions.Heard({"attributes": {"image": "$BUILD_ID"}}, {"_X"})
    done = substitutions.resolved({"_X": "$(body.message.attributes.image)"}, {"BUILD_ID": "7"}, heard)
    assert done == {"_X": "$BUILD_ID"}
    assert substitutions.applied({"args": ["$_X"]}, done) == {"args": ["$BUILD_ID"]}


def test_bash_s_ways_of_cutting_a_value_are_refused_rather_than_left():
    with pytest.raises(ApiError, match="COMMIT_SHA:0:7"):
        substitutions.check_readable({"args": ["${COMMIT_SHA:0:7}"]})
