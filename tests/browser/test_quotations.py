"""Selected words are cited in a real browser: by mouse, by key and without scripts."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page

from browser.library import Library
from reading_home import PAGES

pytestmark = pytest.mark.xdist_group("forms")

SELECT_WORDS = """([start, end]) => {
  const inside = document.querySelector("[data-cite]");
  const text = document.createTreeWalker(inside, NodeFilter.SHOW_TEXT).nextNode();
  getSelection().setBaseAndExtent(text, start, text, end);
}"""


@pytest.fixture
def read_page(page: Page, library: Library) -> Page:
    page.goto(f"{library.read}/file/{library.reading.pdf}/pages/3")
    return page


def test_selected_words_are_cited_and_found_in_the_text(read_page: Page) -> None:
    page = read_page
    quote = PAGES[2][2:14].strip()
    page.evaluate(SELECT_WORDS, [2, 14])
    page.get_by_role("link", name="Cite quote").click()
    page.wait_for_url(re.compile(r"/cite\?"))
    assert page.locator("h1").inner_text() == "Cite this quote"
    assert page.locator(".cited").inner_text().startswith(f"“{quote}” (characters ")
    page.go_back()
    page.evaluate(SELECT_WORDS, [0, len(PAGES[2].split()[0])])
    page.get_by_role("link", name="Cite quote").wait_for()
    page.keyboard.press("c")
    page.wait_for_url(re.compile(r"/cite\?"))
    page.get_by_role("link", name="Show in the text").click()
    page.wait_for_url(re.compile(r"/pages/3\?q="))
    assert page.locator("mark").first.inner_text() == PAGES[2].split()[0]


def test_the_cite_link_needs_selected_words(read_page: Page) -> None:
    page = read_page
    link = page.get_by_role("link", name="Cite quote")
    assert link.count() == 0
    page.evaluate(SELECT_WORDS, [0, 5])
    link.wait_for()
    page.evaluate("() => getSelection().removeAllRanges()")
    link.wait_for(state="detached")
    page.evaluate("() => getSelection().selectAllChildren(document.querySelector('h1'))")
    assert link.count() == 0
    page.evaluate("() => getSelection().selectAllChildren(document.body)")
    assert link.count() == 0


def test_without_scripts_a_quote_is_entered_in_a_form(browser: Browser, library: Library) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{library.read}/file/{library.reading.pdf}/cite?page=3")
    page.get_by_label("Quote from this page").fill(PAGES[2])
    page.get_by_role("button", name="Cite quote").click()
    assert page.locator("h1").inner_text() == "Cite this quote"
    context.close()
