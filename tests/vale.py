"""Runs Vale on the pages and on the shown texts, and compares with the baseline: `python -m tests.vale [--write]`.

`.vale/baseline.yaml` has the number of findings by file and rule. A larger number is a failure. A smaller one is a
failure too, until `python -m tests.vale --write` has lowered the baseline, which never raises a number.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from tests.texts import shown_texts

ROOT = Path(__file__).resolve().parents[1]
BASELINE = ROOT / ".vale" / "baseline.yaml"
PAGES = ("README.md", "bench/README.md", "docs/**/*.md")
GENERATED = "workflows/generated/"
_VALUE = re.compile(r"\{[^{}]*\}")

Found = Mapping[str, Mapping[str, list[str]]]
"""File -> rule -> its findings, each a line for people."""
Baseline = Mapping[str, Mapping[str, int]]


def main(arguments: list[str]) -> int:
    found = findings()
    if arguments == ["--write"]:
        before = read_baseline() if BASELINE.exists() else None
        BASELINE.write_text(render_baseline(lowered(found, before)), encoding="utf-8")
    problems = compare(found, read_baseline())
    sys.stdout.writelines(f"{line}\n" for line in problems)
    return 1 if problems else 0


def compare(found: Found, baseline: Baseline) -> list[str]:
    """What is wrong, as lines: the findings of a file and rule above the baseline, and how many are below it."""
    problems, fewer = [], 0
    for file in sorted({*found, *baseline}):
        now, before = found.get(file, {}), baseline.get(file, {})
        for rule in sorted({*now, *before}):
            lines, allowed = now.get(rule, []), before.get(rule, 0)
            if len(lines) > allowed:
                problems += [
                    *lines,
                    f"{file}: {len(lines)} findings of {rule}, {allowed} allowed. Fix: rewrite the text.",
                ]
            fewer += max(allowed - len(lines), 0)
    if fewer:
        problems.append(
            f"{BASELINE.name}: {fewer} findings are fixed. Fix: run `.venv/bin/python -m tests.vale --write`."
        )
    return problems


def lowered(found: Found, before: Baseline | None) -> dict[str, dict[str, int]]:
    """The baseline after a fall; without a baseline, all findings."""
    numbers = {
        file: {
            rule: len(lines) if before is None else min(len(lines), before.get(file, {}).get(rule, 0))
            for rule, lines in sorted(rules.items())
        }
        for file, rules in sorted(found.items())
    }
    kept = {file: {rule: count for rule, count in rules.items() if count} for file, rules in numbers.items()}
    return {file: rules for file, rules in kept.items() if rules}


def render_baseline(baseline: Baseline) -> str:
    """One line a file, so that edits of two files do not meet in one line."""
    rows = (
        f"{file}: {{{', '.join(f'{rule}: {n}' for rule, n in rules.items())}}}\n" for file, rules in baseline.items()
    )
    return (
        "# Findings of Vale that are not fixed yet: file, rule, number. A number only falls (tests/vale.py).\n"
        + "".join(rows)
    )


def read_baseline() -> Baseline:
    return yaml.safe_load(BASELINE.read_text(encoding="utf-8")) or {}


def findings() -> Found:
    pages = sorted(path for pattern in PAGES for path in ROOT.glob(pattern))
    with tempfile.TemporaryDirectory() as folder:
        texts = Path(folder) / "texts.md"
        places = write_texts(texts)
        alerts = run_vale([*pages, texts])
        found: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for path, rows in sorted(alerts.items()):
            for row in sorted(rows, key=lambda row: (row["Line"], row["Check"], row["Span"])):
                shown = path == str(texts)
                file, line = places[row["Line"]] if shown else (Path(path).relative_to(ROOT).as_posix(), row["Line"])
                found[file][row["Check"]].append(f"{file}:{line}: {row['Check']}: {row['Message']}")
        return found


def write_texts(page: Path) -> dict[int, tuple[str, int]]:
    """Write each text that the product shows as a paragraph; the file and line of the text by line of the page."""
    places, lines = dict[int, tuple[str, int]](), list[str]()
    for text in shown_texts(ROOT):
        if text.file.startswith(GENERATED):
            continue
        lines += [_VALUE.sub("X", text.text).lstrip("#->+ "), ""]
        places[len(lines) - 1] = (text.file, text.line)
    page.write_text("\n".join(lines), encoding="utf-8")
    return places


def run_vale(pages: Iterable[Path]) -> dict[str, list[dict]]:
    vale = Path(sys.executable).with_name("vale")
    command = [str(vale if vale.is_file() else shutil.which("vale")), "--no-exit", "--no-global", "--output=JSON"]
    done = subprocess.run([*command, *map(str, pages)], cwd=ROOT, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"vale: {done.stderr or done.stdout}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
