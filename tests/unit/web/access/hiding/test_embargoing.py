"""Curators hide a file on the page and show it again; nobody else does, and nothing else is taken."""

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
    filled = fill_home(tmp_path)
    with open_guarded_home(tmp_path) as found:
        yield found, filled


def sent(sha1hex: str, **changes: str) -> dict[str, str]:
    told = {"until": "2999-05-01", "reason": "rights", "note": "letter <b> of May"}
    return {"sha1hex": sha1hex, **told} | changes


def test_a_file_is_hidden_by_a_form_and_shown_again_by_another(
    home: tuple[GuardedHome, FilledHome],
) -> None:
    place, filled = home
    one = filled.pdfs[1]
    curator, reader = place.sign_in(Role.CURATOR), place.sign_in(Role.READER)
    file_page = PageRead(curator.get(f"/file/{one}").text)
    assert f"/embargoes?key={one}#hide" in file_page.links("//main")
    assert "/embargoes" not in reader.get(f"/file/{one}").text
    form = PageRead(curator.get(f"/embargoes?key={one}").text)
    assert form.tree.xpath("//input[@id='sha1hex']/@value") == [one]
    assert "On the measurement of water levels" in form.words("//form[@action='/embargoes']")
    done = curator.post("/embargoes", data=sent(one), headers=OWN)
    assert (done.status_code, done.headers["location"]) == (303, "/embargoes")
    (row,) = place.stores.records.get(EmbargoRow, [one])
    assert (row.made_by, row.reason_class, row.note) == ("curator", "rights", "letter <b> of May")
    assert f"{row.until:%Y-%m-%d %H:%M}" == "2999-05-01 00:00"
    assert reader.get(f"/file/{one}").status_code == 403
    assert one not in reader.get("/api/search?q=measurement").text
    assert "letter <b> of May" in PageRead(curator.get("/embargoes").text).words()
    done = curator.post("/embargoes/lift", data={"sha1hex": one}, headers=OWN)
    assert done.status_code == 303
    assert reader.get(f"/file/{one}").status_code == 200
    assert one in reader.get("/api/search?q=measurement").text
    again = curator.post("/embargoes/lift", data={"sha1hex": one}, headers=OWN)
    assert again.status_code == 400


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
def test_what_cannot_be_hidden_is_refused_with_a_sentence(
    home: tuple[GuardedHome, FilledHome], changes: dict[str, str]
) -> None:
    place, filled = home
    curator = place.sign_in(Role.CURATOR)
    answer = curator.post("/embargoes", data=sent(filled.pdfs[1]) | changes, headers=OWN)
    assert answer.status_code == 400
    assert "<b>" not in answer.text
    assert list(place.stores.records.find(EmbargoRow)) == []


def test_only_a_curator_of_these_pages_hides_anything(home: tuple[GuardedHome, FilledHome]) -> None:
    place, filled = home
    data = sent(filled.pdfs[1])
    for path in ("/embargoes", "/embargoes/lift"):
        for client in (place.client(), place.sign_in(Role.READER)):
            assert client.post(path, data=data, headers=OWN).status_code in (401, 403)
        for headers in ({}, {"sec-fetch-site": "cross-site"}, {"Origin": "http://other.example"}):
            curator = place.sign_in(Role.CURATOR)
            assert curator.post(path, data=data, headers=headers).status_code == 403
    assert list(place.stores.records.find(EmbargoRow)) == []


def test_nothing_is_hidden_that_was_taken_down(home: tuple[GuardedHome, FilledHome]) -> None:
    place, filled = home
    one = filled.pdfs[1]
    place.stores.records.put([TakedownRow(one, "copyright", "", "ann", NOW, TakedownRest(), NOW)])
    answer = place.sign_in(Role.CURATOR).post("/embargoes", data=sent(one), headers=OWN)
    assert answer.status_code in (400, 410)
    assert list(place.stores.records.find(EmbargoRow)) == []


def test_while_another_process_works_on_the_home_nothing_is_done(tmp_path: Path) -> None:
    filled = fill_home(tmp_path)
    with open_guarded_home(tmp_path) as place:
        place.pages.state.home = tmp_path
        curator = place.sign_in(Role.CURATOR)
        data = sent(filled.pdfs[1])
        with HomeLock(tmp_path):
            answer = curator.post("/embargoes", data=data, headers=OWN)
        assert answer.status_code == 409
        assert "in use by process" in PageRead(answer.text).words()
        assert list(place.stores.records.find(EmbargoRow)) == []
        assert curator.post("/embargoes", data=data, headers=OWN).status_code == 303
        reader = place.sign_in(Role.READER)
        assert filled.pdfs[1] not in reader.get("/api/search?q=measurement").text
