"""What forms answer, in every setting: keys, signing in, embargoes, takedowns, and results verified."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from browser.browsing import running
from browser.matrix import LIGHT, is_usable, launched
from failed_home import body, fail
from filled_home import Filled, fill_home
from fonds.model.access import Role
from fonds.model.restrictions import EmbargoReason
from fonds.model.rows import EmbargoRow, TakedownRow
from guarded_home import Guarded, guarded
from home_rows import NOW, Body, file_row
from takedowns import taking_down, wanted

pytestmark = pytest.mark.xdist_group("form_answers")

FAILED = (900, 903)
NOTE, MANY = "asked-for-by-a-name-without-any-blank-" * 12, 220
ROLES = tuple(map(str, Role))
HIDDEN = f"{1:040x}"
UNTIL = datetime(2999, 5, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Site:
    """A home in which one file was taken down and many are under embargo; `before` and `after` are the
    manifests of a result of then and of now."""

    browser: Browser
    home: Guarded
    filled: Filled
    address: str
    before: str
    after: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("guarded")
    filled = fill_home(folder)
    with (
        launched() as browser,
        guarded(folder) as home,
        running(home.pages) as address,
    ):
        fail(home.stores, *FAILED)
        before = _manifest(home)
        before |= {"documents": before["documents"][2:], "rows": before["rows"] - 2}
        taking_down(home.stores)(wanted(filled.pdfs[2]))
        row = EmbargoRow(filled.pdfs[0], EmbargoReason.RIGHTS, NOTE, UNTIL, "ann", NOW)
        home.stores.records.put([row, *(replace(row, sha1hex=f"{n:040x}") for n in range(MANY))])
        after = _manifest(home)
        yield Site(browser, home, filled, address, json.dumps(before), json.dumps(after))


def _manifest(home: Guarded) -> dict[str, Any]:
    answer = home.signed_in(Role.ADMIN).get("/search/export/csv.zip?q=flood")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        found: dict[str, Any] = json.loads(archive.read("search.csv.manifest.json"))
    return found


def _sign_in(page: Page, site: Site, secret: str) -> None:
    page.goto(f"{site.address}/sign-in")
    page.get_by_label("Key").fill(secret)
    page.get_by_role("button", name="Sign in").click()


def _make_key(page: Page, site: Site, begin: str) -> None:
    """A name is given out once: the number of keys makes it another one each time."""
    taken = {one.name for one in site.home.gate.keys.list_all()}
    name = begin if begin in ROLES else f"{begin}{len(taken)}"
    page.goto(f"{site.address}/admin")
    page.get_by_text("Create a key").click()
    page.get_by_label("Name (lower case)").fill(name)
    page.get_by_label("Expires on").fill("2999-05-01")
    page.get_by_role("button", name="Create key").click()


def _list_keys(page: Page, site: Site) -> None:
    made = site.home.gate.keys.create(
        f"{'n' * 40}{len(site.home.gate.keys.list_all())}", Role.READER, "local:me"
    )
    page.goto(f"{site.address}/admin")
    page.get_by_text(f"Revoke {made.row.name}", exact=True).click()
    page.get_by_label(f"Reason for revoking {made.row.name}").fill("w" * 100)
    page.locator("li", has_text=made.row.name).get_by_role("button", name="Revoke").click()


def _hide(page: Page, site: Site, sha1hex: str) -> None:
    page.goto(f"{site.address}/embargoes?key={sha1hex}")
    page.get_by_label("Hidden until").fill("2999-05-01")
    page.get_by_label("Who asked for it").fill(NOTE)
    page.get_by_role("button", name="Hide file").click()


def _another(site: Site) -> str:
    """A file that nothing else is asked of."""
    records = site.home.stores.records
    number = 5_000 + records.count(TakedownRow).get((), 0)
    one = Body(number, f"http://made.example/{'n' * 200}{number}", NOW, "text/html", b"%d" % number)
    records.put([file_row(one)])
    return one.sha1hex


def _take_down(page: Page, site: Site, note: bool = True) -> None:
    """A file that was put here for it, since each is taken down once; refused without the box."""
    one = _another(site) if note else site.filled.broken
    page.goto(f"{site.address}/takedowns?key={one}")
    page.get_by_label("Who asked for it").fill(NOTE)
    if note:
        page.get_by_label("I checked the file").check()
    else:
        page.locator("form[method=post][action='/takedowns']").evaluate("f => f.noValidate = true")
    page.get_by_role("button", name="Take down").click()


def _verify(page: Page, site: Site, manifest: str) -> None:
    page.goto(f"{site.address}/verify")
    page.get_by_label("Or paste its text").fill(manifest)
    page.get_by_role("button", name="Verify").click()


def _accept(page: Page, site: Site) -> None:
    """One of two failures, since each is accepted once."""
    for number in FAILED:
        page.goto(
            f"{site.address}/failures/accept?pipeline=library&entry={body(number).capture_id}"
        )
        button = page.get_by_role("button", name="Accept failures")
        if button.count():
            page.get_by_label("Note").fill(NOTE[:400])
            button.click()
            return


def _read_again(page: Page, site: Site) -> None:
    page.goto(f"{site.address}/file/{site.filled.pdfs[1]}/cite")
    page.locator("form[action$='/verify'] button").click()


# Name -> (what leads to the answer, how its heading begins); all but the first by an admin.
ANSWERS: dict[str, tuple[Callable[[Page, Site], Any], str]] = {
    "sign-in, refused": (lambda page, at: _sign_in(page, at, "fonds_" + "a" * 52), "Sign in"),
    "file under embargo": (
        lambda page, at: page.goto(f"{at.address}/file/{HIDDEN}"),
        "This is not open",
    ),
    "file taken down": (
        lambda page, at: page.goto(f"{at.address}/file/{at.filled.pdfs[2]}"),
        "This was",
    ),
    "key, made": (lambda page, at: _make_key(page, at, "maria"), "The key of maria"),
    "key, refused": (lambda page, at: _make_key(page, at, "reader"), "This cannot"),
    "keys, listed and revoked": (_list_keys, ""),
    "embargo, made": (lambda page, at: _hide(page, at, at.filled.broken), f"{MANY + 2} files are"),
    "embargo, refused": (lambda page, at: _hide(page, at, "f" * 40), "This cannot"),
    "takedown, looked at": (
        lambda page, at: page.goto(f"{at.address}/takedowns?key={at.filled.pdfs[1]}"),
        "",
    ),
    "takedown, made": (_take_down, ""),
    "takedown, refused": (lambda page, at: _take_down(page, at, note=False), "This cannot"),
    "result, same": (lambda page, at: _verify(page, at, at.after), "The search finds the same"),
    "result, other": (lambda page, at: _verify(page, at, at.before), ""),
    "result, no manifest": (lambda page, at: _verify(page, at, "x"), "This cannot be verified"),
    "failure, accepted": (_accept, "1 failure was accepted"),
    "bytes, the same": (_read_again, "The bytes are as they were archived"),
}
SIGNED_OUT = ("sign-in, refused", "file under embargo")


@contextmanager
def _answered(site: Site, name: str, **settings: Any) -> Iterator[Page]:
    """The answer, in a browser of its own."""
    lead, heading = ANSWERS[name]
    context = site.browser.new_context(**LIGHT | settings)
    try:
        page = context.new_page()
        if name not in SIGNED_OUT:
            _sign_in(page, site, site.home.secrets[Role.ADMIN])
        lead(page, site)
        assert page.locator("h1").inner_text().startswith(heading), page.locator("h1").inner_text()
        yield page
    finally:
        context.close()


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_needs_no_scripts_and_holds_in_every_setting(site: Site, name: str) -> None:
    with _answered(site, name, java_script_enabled=False) as page:
        assert page.locator("h1").count() == 1
        href = page.url
    # Read once more with scripts, which axe is one of; what a form answered stands at no address.
    with _answered(site, name, bypass_csp=True) as page:
        assert page.url.rpartition("/")[0] == href.rpartition("/")[0]
        is_usable(page)
