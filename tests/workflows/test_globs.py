"""Filters let through what GitHub's cheat sheet says."""

from __future__ import annotations

import pytest

from workflows.triggering import PatternError, any_included, any_kept, included


@pytest.mark.parametrize(
    ("pattern", "through", "held"),
    [
        ("feature/*", ["feature/my-branch", "feature/your-branch"], ["feature/a/b", "feature"]),
        ("feature/**", ["feature/beta-a/my-branch", "feature/mona"], ["features/x"]),
        ("main", ["main"], ["maint", "a/main"]),
        ("*", ["main", "releases"], ["all/the/branches"]),
        ("**", ["all/the/branches", "every/tag"], []),
        ("*feature", ["mona-feature", "feature"], ["a/feature"]),
        ("v2*", ["v2", "v2.0", "v2.9"], ["v3"]),
        ("v[12].[0-9]+.[0-9]+", ["v1.10.1", "v2.0.0"], ["v3.0.0", "v1.1"]),
        ("*.jsx?", ["page.js", "page.jsx"], ["page.jsxx", "a/page.js"]),
        ("**.js", ["index.js", "js/index.js", "src/js/app.js"], ["index.jsx"]),
        ("docs/*", ["docs/README.md"], ["docs/a/b.md", "README.md"]),
        ("docs/**", ["docs/README.md", "docs/mona/octocat.txt"], ["a/docs/x", "docs"]),
        ("docs/**/*.md", ["docs/README.md", "docs/mona/hello.md", "docs/a/md/b.md"], ["docs/x.txt"]),
        ("**/docs/**", ["docs/hello.md", "dir/docs/my-file.txt", "space/docs/plan/b.doc"], ["adocs/x"]),
        ("**/README.md", ["README.md", "js/README.md"], ["XREADME.md"]),
        ("**/*src/**", ["a/src/app.js", "my-src/code/js/app.js"], ["a/srcs/app.js"]),
        ("**/*-post.md", ["my-post.md", "path/their-post.md"], ["post.md"]),
        ("**/migrate-*.sql", ["migrate-10909.sql", "db/sept/migrate-v1.sql"], ["migrate.sql"]),
        (r"a\*b", ["a*b"], ["axb"]),
        ("a.b", ["a.b"], ["axb"]),
    ],
)
def test_a_pattern_of_the_cheat_sheet(pattern: str, through: list[str], held: list[str]) -> None:
    assert [name for name in through + held if included(name, [pattern])] == through


def test_the_last_pattern_that_matches_decides() -> None:
    patterns = ["releases/**", "!releases/**-alpha", "releases/1-alpha"]
    assert included("releases/10", patterns)
    assert not included("releases/beta/3-alpha", patterns)
    assert included("releases/1-alpha", patterns)
    assert not included("x", ["!x"])


def test_one_path_is_enough_and_one_that_is_not_ignored() -> None:
    assert any_included(["README.md", "sub/index.js"], ["sub/**", "!sub/docs/**"])
    assert not any_included(["sub/docs/x"], ["sub/**", "!sub/docs/**"])
    assert any_kept(["docs/a", "src/b"], ["docs/**"])
    assert not any_kept(["docs/a"], ["docs/**"])


@pytest.mark.parametrize("pattern", ["?x", "+x", "[", "[]"])
def test_a_pattern_that_means_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match=r"\[|repeats"):
        included("x", [pattern])
