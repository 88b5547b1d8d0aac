"""Pages with long lists, long names and large numbers, in every setting."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser

from browser.browsing import serve_app
from browser.matrix import (
    LIGHT,
    SETTINGS,
    check_legible,
    check_usable,
    name_in_failures,
    open_page,
    open_visitor,
)
from filled_home import open_home
from followed_home import GOOD, add_health
from fonds.following.health import UNTIL_RECOVERED
from fonds.model.document import IndexDocument
from fonds.model.file import Kind
from fonds.model.rows import SourceRow, TallyRow
from fonds.ports import Stores
from fonds.web.app import create_app
from home_rows import NOW
from many_entries import fill_entries
from many_themes import fill_many_themes

pytestmark = pytest.mark.xdist_group("library")

LONG = "Überschwemmungsgebietsverordnung" * 8
ENTRIES, SOURCES, DOCUMENTS, HUGE_NUMBER = 900, 130, 400, 987_654_321
THEMES = 3_000

PAGES = {
    "overview": "/",
    "overview by week": "/?days=365&since=2020-01-01",
    "records": "/records",
    "records, counted": "/records?weight=failed",
    "files": "/files",
    "failures": "/failures",
    "pipeline": "/pipeline",
    "sources": "/sources",
    "sources, last page": "/sources?page=3",
    "sources, muted": "/sources?health=muted",
    "search": "/search?q=flood",
    "search, one facet whole": "/search?q=flood&facets=100",
    "search, far behind": "/search?q=flood&page=20",
    "search, long words": f"/search?q={quote(LONG)}",
    "search, all as of a day": "/search/as-of?q=flood&day=2026-03-14&change=not_compared",
    "collections, many themes": "/themes",
    "collection, many themes": "/themes/many/themes",
    "collection, last page of themes": f"/themes/many/themes?page={THEMES // 20}",
    "many themes over time": "/themes/many/themes/over-time",
    "theme, long name": "/themes/many/themes/t7",
    "search, counted by many themes": "/search?q=flood&themes=many/themes&facets=100",
    "look up, long words": f"/show?key={quote(LONG)}",
}
ON_PUSH = (
    "overview",
    "files",
    "sources, muted",
    "search, long words",
    "collection, many themes",
    "theme, long name",
    "look up, long words",
)


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with open_home(tmp_path_factory.mktemp("much")) as stores:
        _fill(stores)
        with serve_app(create_app(stores)) as served_origin:
            yield served_origin


def _fill(stores: Stores) -> None:
    fill_entries(stores, ENTRIES)
    rows = stores.records.find(TallyRow, {"counted": "entries", "first": "done"})
    stores.records.put([replace(row, count=row.count + HUGE_NUMBER) for row in rows])
    stores.records.put([_source(number) for number in range(SOURCES)])
    stores.index.put([_document(number) for number in range(DOCUMENTS)])
    fill_many_themes(stores, THEMES, LONG)


def _source(number: int) -> SourceRow:
    """Return a source; together they have every health, and some are muted."""
    row = replace(
        GOOD,
        source_id=f"{number:012x}",
        url=f"https://{number}.example/{LONG}",
        title=f"{number} {LONG}" if number % 2 else "",
        error=LONG if number % 3 else None,
        failures=number,
        failing_since=NOW if number else None,
        links=HUGE_NUMBER,
        next_poll=NOW,
        refused_tally={"non-news": HUGE_NUMBER},
        muted_at=NOW if number % 4 == 0 else None,
        muted_until=UNTIL_RECOVERED if number % 4 == 0 else None,
        mute_note=LONG if number % 4 == 0 else "",
        state="paused" if number % 17 == 0 else "gone" if number % 19 == 0 else "active",
    )
    return add_health(row)


def _document(number: int) -> IndexDocument:
    return IndexDocument(
        id=f"{number:040x}",
        sha1hex=f"{number:040x}",
        kind=Kind.PDF,
        url=f"https://host{number}.example/{LONG}/{number}.pdf",
        canonical_domain=f"host{number}.example",
        publication_date=date(2020, 1, 1) + timedelta(days=number),
        language="de",
        article_title=f"{LONG} {number}",
        text_content=f"A flood, {LONG}, and {number} other words.",
        indexed_date=NOW,
        authors=(LONG,) * 30,
        page_count=HUGE_NUMBER,
        word_count=HUGE_NUMBER,
    )


def test_pages_with_much_content_fit_a_phone(browser: Browser, origin: str) -> None:
    """No page sends a request to another host or logs an error."""
    narrow = SETTINGS["narrow"]
    with open_visitor(browser, **narrow) as visitor:
        for name in ON_PUSH:
            with name_in_failures(name), visitor.visit(origin + PAGES[name], _status(name)) as page:
                check_legible(page, narrow["viewport"]["width"])


@pytest.mark.nightly
@pytest.mark.parametrize("name", PAGES)
def test_pages_with_much_content_are_usable_in_every_setting(
    browser: Browser, origin: str, name: str
) -> None:
    with open_page(browser, origin + PAGES[name], _status(name), bypass_csp=True, **LIGHT) as page:
        check_usable(page)


def _status(name: str) -> int:
    return 404 if name.startswith("look up") else 200
