"""Responses of forms in every setting: keys, sign-in, embargoes, takedowns and verified results."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page

from browser.browsing import serve_app
from browser.matrix import LIGHT, check_usable, name_in_failures
from browser.templates import REPRESENTATIVES, RenderedTemplates
from failed_home import body, fail
from filled_home import FilledHome, fill_home
from fonds.model.access import Role
from fonds.model.restrictions import EmbargoReason
from fonds.model.rows import EmbargoRow, TakedownRow
from guarded_home import GuardedHome, open_guarded_home
from home_rows import NOW, Body, file_row
from takedowns import build_takedown, create_takedown_service, take_down

pytestmark = pytest.mark.xdist_group("forms")

FAILED = (900, 903)
NOTE, EMBARGO_COUNT = "asked-for-by-a-name-without-any-blank-" * 12, 220
ROLES = tuple(map(str, Role))
HIDDEN = f"{1:040x}"
UNTIL = datetime(2999, 5, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Site:
    """A home with a taken-down file and many embargoes.

    `before` and `after` are manifests of a result before and after these.
    """

    home: GuardedHome
    filled: FilledHome
    address: str
    before: str
    after: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("guarded")
    filled = fill_home(folder)
    with (
        open_guarded_home(folder) as home,
        serve_app(home.pages) as address,
    ):
        fail(home.stores, *FAILED)
        before = _manifest(home)
        before |= {"documents": before["documents"][2:], "rows": before["rows"] - 2}
        take_down(create_takedown_service(home.stores), build_takedown(filled.pdfs[2]))
        row = EmbargoRow(filled.pdfs[0], EmbargoReason.RIGHTS, NOTE, UNTIL, "ann", NOW)
        home.stores.records.put(
            [row, *(replace(row, sha1hex=f"{n:040x}") for n in range(EMBARGO_COUNT))]
        )
        after = _manifest(home)
        yield Site(home, filled, address, json.dumps(before), json.dumps(after))


def _manifest(home: GuardedHome) -> dict[str, Any]:
    answer = home.sign_in(Role.ADMIN).get("/search/export/csv.zip?q=flood")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        manifest: dict[str, Any] = json.loads(archive.read("search.csv.manifest.json"))
    return manifest


def _sign_in(page: Page, site: Site, secret: str) -> None:
    page.goto(f"{site.address}/sign-in")
    page.get_by_label("Key").fill(secret)
    page.get_by_role("button", name="Sign in").click()


def _make_key(page: Page, site: Site, begin: str) -> None:
    """Create a key with a unique name: the number of keys is appended."""
    count = len({key.name for key in site.home.gate.keys.list_all()})
    name = begin if begin in ROLES else f"{begin}{count}"
    page.goto(f"{site.address}/admin")
    page.get_by_text("Create a key").click()
    page.get_by_label("Name (lower case)").fill(name)
    page.get_by_label("Expires on").fill("2999-05-01")
    page.get_by_role("button", name="Create key").click()


def _list_keys(page: Page, site: Site) -> None:
    created_key = site.home.gate.keys.create(
        f"{'n' * 40}{len(site.home.gate.keys.list_all())}", Role.READER, "local:me"
    )
    page.goto(f"{site.address}/admin")
    page.get_by_text(f"Revoke {created_key.row.name}", exact=True).click()
    page.get_by_label(f"Reason for revoking {created_key.row.name}").fill("w" * 100)
    page.locator("li", has_text=created_key.row.name).get_by_role("button", name="Revoke").click()


def _hide(page: Page, site: Site, sha1hex: str) -> None:
    page.goto(f"{site.address}/embargoes?key={sha1hex}")
    page.get_by_label("Hidden until").fill("2999-05-01")
    page.get_by_label("Who asked for it").fill(NOTE)
    page.get_by_role("button", name="Hide file").click()


def _add_file(site: Site) -> str:
    """Add a file for this call only; return its SHA-1."""
    records = site.home.stores.records
    number = 5_000 + records.count(TakedownRow).get((), 0)
    new_body = Body(
        number, f"http://made.example/{'n' * 200}{number}", NOW, "text/html", b"%d" % number
    )
    records.put([file_row(new_body)])
    return new_body.sha1hex


def _take_down(page: Page, site: Site, note: bool = True) -> None:
    """Take down a new file; without `note`, submit the form without its checkbox."""
    sha1hex = _add_file(site) if note else site.filled.broken
    page.goto(f"{site.address}/takedowns?key={sha1hex}")
    page.get_by_label("Who asked for it").fill(NOTE)
    if note:
        page.get_by_label("I checked the file to be removed").check()
    else:
        page.locator("form[method=post][action='/takedowns']").evaluate("f => f.noValidate = true")
    page.get_by_role("button", name="Take down").click()


def _verify(page: Page, site: Site, manifest: str) -> None:
    page.goto(f"{site.address}/verify")
    page.get_by_label("Or paste its text").fill(manifest)
    page.get_by_role("button", name="Verify").click()


def _accept(page: Page, site: Site) -> None:
    """Accept one of two failures; each can be accepted once."""
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


class Answer(NamedTuple):
    """A response of a form: the function that leads to it, the start of its heading, and its template."""

    lead: Callable[[Page, Site], Any]
    heading: str
    template: str


ANSWERS: dict[str, Answer] = {
    "sign-in, refused": Answer(
        lambda page, at: _sign_in(page, at, "fonds_" + "a" * 52), "Sign in", "sign_in.html"
    ),
    "file under embargo": Answer(
        lambda page, at: page.goto(f"{at.address}/file/{HIDDEN}"),
        "Permission denied",
        "problem.html",
    ),
    "file taken down": Answer(
        lambda page, at: page.goto(f"{at.address}/file/{at.filled.pdfs[2]}"),
        "Taken down",
        "problem.html",
    ),
    "key, made": Answer(
        lambda page, at: _make_key(page, at, "maria"), "Key of maria", "key_made.html"
    ),
    "key, refused": Answer(
        lambda page, at: _make_key(page, at, "reader"), "Invalid request", "problem.html"
    ),
    "keys, listed and revoked": Answer(_list_keys, "", "admin.html"),
    "embargo, made": Answer(
        lambda page, at: _hide(page, at, at.filled.broken),
        f"{EMBARGO_COUNT + 2} files are",
        "embargoes.html",
    ),
    "embargo, refused": Answer(
        lambda page, at: _hide(page, at, "f" * 40), "Invalid request", "problem.html"
    ),
    "takedown, looked at": Answer(
        lambda page, at: page.goto(f"{at.address}/takedowns?key={at.filled.pdfs[1]}"),
        "",
        "takedowns.html",
    ),
    "takedown, made": Answer(_take_down, "", "takedowns.html"),
    "takedown, refused": Answer(
        lambda page, at: _take_down(page, at, note=False), "Invalid request", "problem.html"
    ),
    "result, same": Answer(
        lambda page, at: _verify(page, at, at.after), "The search finds the same", "verify.html"
    ),
    "result, other": Answer(lambda page, at: _verify(page, at, at.before), "", "verify.html"),
    "result, no manifest": Answer(
        lambda page, at: _verify(page, at, "x"), "Invalid manifest", "verify.html"
    ),
    "failure, accepted": Answer(_accept, "1 failure was accepted", "decided.html"),
    "bytes, the same": Answer(_read_again, "The archived bytes are unchanged", "verified.html"),
}
"""Responses by name. All except SIGNED_OUT are for an admin."""
SIGNED_OUT = ("sign-in, refused", "file under embargo")
ON_PUSH = [name for name in REPRESENTATIVES.values() if name in ANSWERS]


@dataclass(frozen=True)
class Readers:
    """A page of a guest, and one of a signed-in admin."""

    guest: Page
    admin: Page

    def open(self, site: Site, name: str, templates: RenderedTemplates) -> Page:
        """Open a response as guest or admin."""
        answer = ANSWERS[name]
        page = self.guest if name in SIGNED_OUT else self.admin
        with templates.expect(answer.template):
            answer.lead(page, site)
            heading = page.locator("h1").inner_text()
        assert heading.startswith(answer.heading), heading
        return page


@contextmanager
def reading(browser: Browser, site: Site, **settings: Any) -> Iterator[Readers]:
    guests, admins = (browser.new_context(**LIGHT | settings) for _ in range(2))
    try:
        readers = Readers(guests.new_page(), admins.new_page())
        _sign_in(readers.admin, site, site.home.secrets[Role.ADMIN])
        yield readers
    finally:
        guests.close()
        admins.close()


def test_responses_work_without_scripts_and_in_every_setting(
    browser: Browser, site: Site, templates: RenderedTemplates
) -> None:
    with (
        reading(browser, site, java_script_enabled=False) as plain,
        reading(browser, site, bypass_csp=True) as scripted,
    ):
        for name in ANSWERS:
            with name_in_failures(name):
                page = plain.open(site, name, templates)
                assert page.locator("h1").count() == 1
                if name in ON_PUSH:
                    _check_usable_at(page.url, scripted.open(site, name, templates))


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in ANSWERS if name not in ON_PUSH])
def test_every_response_is_usable_in_every_setting(
    browser: Browser, site: Site, templates: RenderedTemplates, name: str
) -> None:
    with reading(browser, site, java_script_enabled=False) as plain:
        href = plain.open(site, name, templates).url
    with reading(browser, site, bypass_csp=True) as scripted:
        _check_usable_at(href, scripted.open(site, name, templates))


def _check_usable_at(href: str, page: Page) -> None:
    """Check that the page has the same folder as without scripts, and is usable."""
    assert page.url.rpartition("/")[0] == href.rpartition("/")[0]
    check_usable(page)
