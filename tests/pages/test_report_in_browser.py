"""The page of the estate as a reader has it: in Chromium, at both widths, light and dark, by keyboard and read out."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from tests.pages import sample_estate

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
WIDE, NARROW = (1440, 900), (375, 800)
OVERFLOWING = """() => [...document.querySelectorAll('body *')].filter((each) =>
    each.getBoundingClientRect().right > innerWidth + 1 && !each.closest('.scroll, .apart, .skip'))
    .map((each) => each.outerHTML.slice(0, 80))"""
pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed here"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    home = tmp_path_factory.mktemp("estate") / "home"
    sample_estate.make(home)
    sample_estate.command(home, "report", "--out", str(home / "out"))
    yield (home / "out" / "index.html").as_uri()
    sample_estate.command(home, "cloud", "stop")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@contextmanager
def opened(browser: Browser, address: str, size: tuple[int, int], scheme: str) -> Generator[Page]:
    """The page; whatever the browser has to say of it fails the test."""
    said: list[str] = []
    page = browser.new_page(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: said.extend([] if request.url.startswith("file:") else [request.url]))
    page.goto(address)
    yield page
    page.close()
    assert [each for each in said if each != "data:,"] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_axe_finds_nothing_and_nothing_runs_over(
    browser: Browser, address: str, size: tuple[int, int], scheme: str
) -> None:
    # Axe is brought in as a script, which the page's policy refuses: it judges a copy without the policy.
    path = Path(address.removeprefix("file://"))
    copy = path.with_name("without-policy.html")
    copy.write_text(path.read_text().replace('http-equiv="Content-Security-Policy"', 'name="policy"'))
    with opened(browser, copy.as_uri(), size, scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        assert page.evaluate(OVERFLOWING) == []
        assert page.evaluate("document.documentElement.scrollWidth") == size[0]
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def test_a_table_is_sorted_by_keyboard_and_says_so(browser: Browser, address: str) -> None:
    with opened(browser, address, WIDE, "light") as page:
        head = page.locator("#capacity th").filter(has_text="Chips")
        head.locator("button").focus()
        page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == "ascending"
        chips = [int(each) for each in page.locator('#capacity td[data-label="Chips"]').all_inner_texts()]
        assert chips == sorted(chips)
        assert chips != chips[::-1]
        page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == "descending"
        turned = [int(each) for each in page.locator('#capacity td[data-label="Chips"]').all_inner_texts()]
        assert turned == sorted(chips, reverse=True)
        assert "sorted by Chips, descending" in page.locator("#told").inner_text()


def test_the_first_tab_leads_past_the_navigation(browser: Browser, address: str) -> None:
    with opened(browser, address, WIDE, "light") as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "content"


def test_without_its_script_the_page_is_whole(browser: Browser, address: str) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(address)
    assert page.locator("#theme").is_hidden()
    assert page.locator("main > section").count() == 12
    page.close()
