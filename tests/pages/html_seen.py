"""A page as a reader's machine takes it apart, its tags, names, links and script; and what must hold of it."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

VOID = ("meta", "link", "br")
LOADING = {"img", "iframe", "object", "embed", "video", "audio", "source", "base", "form"}


class Seen(HTMLParser):
    """Tags with their attributes, and what is open when the file ends."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.scripts: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["script"]:
            self.scripts.append(data)
        elif self.open[-1:] != ["style"]:
            self.words.append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    @property
    def ids(self) -> set[str]:
        return {str(attributes["id"]) for _, attributes in self.tags if "id" in attributes}

    @property
    def said(self) -> str:
        return " ".join(self.words)


def assert_sound(seen: Seen) -> None:
    """Well-formed; loads nothing; runs the kit's script alone; no name twice; every link leads somewhere; labelled."""
    assert seen.open == []
    assert not LOADING & {tag for tag, _ in seen.tags}
    addresses = {str(value) for _, every in seen.tags for name, value in every.items() if name in ("src", "href")}
    assert all(each.startswith(("#", "data:,")) for each in addresses)
    assert not re.search(r"url\((?!#)|@import", seen.text)
    assert not [name for _, every in seen.tags for name in every if name.startswith("on")]
    (script,) = seen.scripts
    (policy,) = [str(each["content"]) for each in seen.of("meta") if each.get("http-equiv")]
    assert f"script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in policy
    assert "default-src 'none'" in policy
    names = [attributes["id"] for _, attributes in seen.tags if "id" in attributes]
    assert len(names) == len(set(names))
    assert {str(each["href"]).removeprefix("#") for each in seen.of("a")} <= seen.ids
    assert len(seen.of("table")) == len(seen.of("caption"))
    assert all(each.get("scope") == "col" for each in seen.of("th"))
    assert {tag for tag, _ in seen.tags} >= {"header", "nav", "main", "h1"}
    labelled = [each for each in seen.of("section") if each.get("aria-labelledby") in seen.ids]
    assert len(labelled) == len(seen.of("section"))
    drawn = [each for each in seen.of("div") if each.get("role") == "img"]
    assert all(each.get("aria-label") for each in drawn)
