"""Curators hide a file and show it again on the page. Others are refused, and so are invalid requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from filled_home import FilledHome, fill_home
from fonds.model.access import Role
from fonds.model.restrictions import TakedownRest
from fonds.model.rows import EmbargoRow, TakedownRow
from fonds.stores.home_lock import HomeLock
from guarded_home import OWN, GuardedHome, open_guarded_home
from home_rows import NOW
from page_reading import PageRead


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[GuardedHome, FilledHome]]:
    filled_home = fill_home(tmp_path)
    with open_guarded_home(tmp_path) as guarded_home:
        yield guarded_home, filled_home


def build_form(sha1hex: str, **changes: str) -> dict[str, str]:
    fields = {"until": "2999-05-01", "reason": "rights", "note": "letter <b> of May"}
    return {"sha1hex": sha1hex, **fields} | changes


def test_a_curator_hides_a_file_and_lifts_the_embargo(
    home: tuple[GuardedHome, FilledHome],
) -> None:
    guarded_home, filled_home = home
    sha1hex = filled_home.pdfs[1]
    curator, reader = guarded_home.sign_in(Role.CURATOR), guarded_home.sign_in(Role.READER)
    file_page = PageRead(curator.get(f"/file/{sha1hex}").text)
    assert f"/embargoes?key={sha1hex}#hide" in file_page.links("//main")
    assert "/embargoes" not in reader.get(f"/file/{sha1hex}").text
    form = PageRead(curator.get(f"/embargoes?key={sha1hex}").text)
    assert form.tree.xpath("//input[@id='sha1hex']/@value") == [sha1hex]
    assert "On the measurement of water levels" in form.words("//form[@action='/embargoes']")
    response = curator.post("/embargoes", data=build_form(sha1hex), headers=OWN)
    assert (response.status_code, response.headers["location"]) == (303, "/embargoes")
    (row,) = guarded_home.stores.records.get(EmbargoRow, [sha1hex])
    assert (row.made_by, row.reason_class, row.note) == ("curator", "rights", "letter <b> of May")
    assert f"{row.until:%Y-%m-%d %H:%M}" == "2999-05-01 00:00"
    assert reader.get(f"/file/{sha1hex}").status_code == 403
    assert sha1hex not in reader.get("/api/search?q=measurement").text
    assert "letter <b> of May" in PageRead(curator.get("/embargoes").text).words()
    response = curator.post("/embargoes/lift", data={"sha1hex": sha1hex}, headers=OWN)
    assert response.status_code == 303
    assert reader.get(f"/file/{sha1hex}").status_code == 200
    assert sha1hex in reader.get("/api/search?q=measurement").text
    second = curator.post("/embargoes/lift", data={"sha1hex": sha1hex}, headers=OWN)
    assert second.status_code == 400


@pytest.mark.parametrize(
    "changes",
    [
        {"sha1hex": "x <b>"},
        {"sha1hex": "0" * 40},
        {"until": ""},
        {"until": "2001-01-01"},
        {"until": "soon <b>"},
        {"reason": "because"},
        {"note": "n" * 501},
        {"more": "1"},
    ],
)
def test_invalid_embargoes_are_refused(
    home: tuple[GuardedHome, FilledHome], changes: dict[str, str]
) -> None:
    guarded_home, filled_home = home
    curator = guarded_home.sign_in(Role.CURATOR)
    response = curator.post(
        "/embargoes", data=build_form(filled_home.pdfs[1]) | changes, headers=OWN
    )
    assert response.status_code == 400
    assert "<b>" not in response.text
    assert list(guarded_home.stores.records.find(EmbargoRow)) == []


def test_only_curators_on_the_same_site_can_hide_files(
    home: tuple[GuardedHome, FilledHome],
) -> None:
    guarded_home, filled_home = home
    data = build_form(filled_home.pdfs[1])
    for path in ("/embargoes", "/embargoes/lift"):
        for client in (guarded_home.client(), guarded_home.sign_in(Role.READER)):
            assert client.post(path, data=data, headers=OWN).status_code in (401, 403)
        for headers in ({}, {"sec-fetch-site": "cross-site"}, {"Origin": "http://other.example"}):
            curator = guarded_home.sign_in(Role.CURATOR)
            assert curator.post(path, data=data, headers=headers).status_code == 403
    assert list(guarded_home.stores.records.find(EmbargoRow)) == []


def test_a_file_under_takedown_cannot_be_hidden(home: tuple[GuardedHome, FilledHome]) -> None:
    guarded_home, filled_home = home
    sha1hex = filled_home.pdfs[1]
    guarded_home.stores.records.put(
        [TakedownRow(sha1hex, "copyright", "", "ann", NOW, TakedownRest(), NOW)]
    )
    response = guarded_home.sign_in(Role.CURATOR).post(
        "/embargoes", data=build_form(sha1hex), headers=OWN
    )
    assert response.status_code in (400, 410)
    assert list(guarded_home.stores.records.find(EmbargoRow)) == []


def test_a_locked_home_refuses_embargoes(tmp_path: Path) -> None:
    filled_home = fill_home(tmp_path)
    with open_guarded_home(tmp_path) as guarded_home:
        guarded_home.pages.state.home = tmp_path
        curator = guarded_home.sign_in(Role.CURATOR)
        data = build_form(filled_home.pdfs[1])
        with HomeLock(tmp_path):
            response = curator.post("/embargoes", data=data, headers=OWN)
        assert response.status_code == 409
        assert "in use by process" in PageRead(response.text).words()
        assert list(guarded_home.stores.records.find(EmbargoRow)) == []
        assert curator.post("/embargoes", data=data, headers=OWN).status_code == 303
        reader = guarded_home.sign_in(Role.READER)
        assert filled_home.pdfs[1] not in reader.get("/api/search?q=measurement").text
