"""Curators look what would go with a file, and admins take it down on the page; nobody else does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from filled_home import FilledHome, fill_home
from fonds.config import load_settings
from fonds.model.access import Role
from fonds.model.restrictions import TakedownRest
from fonds.model.rows import ActRow, CdxRow, EmbargoRow, TakedownRow
from fonds.restrictions.takedown import TakedownService
from fonds.restrictions.traces import find_traces
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
    told = {"reason": "privacy", "note": "letter <b> of May", "sure": "yes"}
    return {"sha1hex": sha1hex, **told} | changes


def test_what_would_go_is_told_and_then_goes(home: tuple[GuardedHome, FilledHome]) -> None:
    place, filled = home
    one = filled.pdfs[1]
    admin, reader = place.sign_in(Role.ADMIN), place.sign_in(Role.READER)
    assert f"/takedowns?key={one}" in PageRead(admin.get(f"/file/{one}").text).links("//main")
    looked = admin.get(f"/api/takedowns?key={one}").json()
    (candidate,) = looked["candidates"]
    traces = find_traces(place.stores, None, one)
    assert candidate["title"] == "On the measurement of water levels"
    assert candidate["traces"]["rows"] == traces.rows
    assert candidate["traces"]["blobs"] == list(traces.blobs)
    page = PageRead(admin.get(f"/takedowns?key={one}").text)
    assert "1 matching file" in page.words()
    assert f"{sum(traces.rows.values())} in " in page.words("//article")
    assert traces.has_any
    done = admin.post("/takedowns", data=sent(one), headers=OWN)
    assert (done.status_code, done.headers["location"]) == (303, f"/takedowns#t-{one}")
    (row,) = place.stores.records.get(TakedownRow, [one])
    assert (row.made_by, row.reason_class, row.note) == ("admin", "privacy", "letter <b> of May")
    assert row.finished is not None
    assert not find_traces(place.stores, None, one).has_any
    assert reader.get(f"/file/{one}").status_code == 410
    told = admin.get("/api/takedowns").json()
    assert [each["sha1hex"] for each in told["files"]] == [one]
    assert told["candidates"] == []
    assert "letter <b> of May" in PageRead(admin.get("/takedowns").text).words()
    acts = [act.what for act in place.stores.records.find(ActRow)]
    assert f"POST /takedowns {one} privacy" in acts


def test_a_url_and_a_file_name_lead_to_the_file(home: tuple[GuardedHome, FilledHome]) -> None:
    place, filled = home
    curator = place.sign_in(Role.CURATOR)
    (capture,) = place.stores.records.find(CdxRow, {"sha1hex": filled.pdfs[1]}, count_max=1)
    for key in (capture.url, capture.url.rpartition("/")[2], filled.pdfs[1][:8]):
        found = curator.get("/api/takedowns", params={"key": key}).json()
        assert filled.pdfs[1] in [one["sha1hex"] for one in found["candidates"]], key
    assert curator.get("/takedowns", params={"key": "http://nowhere.example/"}).status_code == 404
    missed = curator.get("/api/takedowns", params={"key": filled.pdfs[1][:6]})
    assert missed.status_code == 404
    assert "at least the first 8 characters" in missed.text


@pytest.mark.parametrize(
    "changes",
    [
        {"sha1hex": "x <b>"},
        {"sha1hex": "0" * 40},
        {"reason": "because"},
        {"note": "n" * 501},
        {"sure": ""},
        {"more": "1"},
    ],
)
def test_what_cannot_be_taken_down_is_refused_with_a_sentence(
    home: tuple[GuardedHome, FilledHome], changes: dict[str, str]
) -> None:
    place, filled = home
    admin = place.sign_in(Role.ADMIN)
    answer = admin.post("/takedowns", data=sent(filled.pdfs[1]) | changes, headers=OWN)
    assert answer.status_code == 400
    assert "<b>" not in answer.text
    assert list(place.stores.records.find(TakedownRow)) == []


def test_only_an_admin_of_these_pages_takes_anything_down(
    home: tuple[GuardedHome, FilledHome],
) -> None:
    place, filled = home
    data = sent(filled.pdfs[1])
    for client in (place.client(), place.sign_in(Role.READER), place.sign_in(Role.CURATOR)):
        assert client.post("/takedowns", data=data, headers=OWN).status_code in (401, 403)
    for headers in ({}, {"sec-fetch-site": "cross-site"}, {"Origin": "http://other.example"}):
        admin = place.sign_in(Role.ADMIN)
        assert admin.post("/takedowns", data=data, headers=headers).status_code == 403
    assert place.sign_in(Role.READER).get("/takedowns").status_code == 403
    curator = PageRead(place.sign_in(Role.CURATOR).get(f"/takedowns?key={filled.pdfs[1]}").text)
    assert curator.tree.xpath("//form[@method='post'][@action='/takedowns']") == []
    assert "Only an admin can take it down." in curator.words()
    assert list(place.stores.records.find(TakedownRow)) == []


def test_where_two_are_needed_nobody_takes_down_alone_what_they_hid(
    home: tuple[GuardedHome, FilledHome],
) -> None:
    place, filled = home
    one = filled.pdfs[1]
    place.pages.state.settings = load_settings(
        Path(place.pages.state.home or "."), {"web.takedown_needs_two": "true"}
    )
    admin, curator = place.sign_in(Role.ADMIN), place.sign_in(Role.CURATOR)
    until = {"until": "2999-05-01", "reason": "privacy", "note": ""}

    def tried() -> Any:
        return admin.post("/takedowns", data=sent(one), headers=OWN)

    assert tried().status_code == 403
    assert "A takedown needs two people" in admin.get(f"/takedowns?key={one}").text
    admin.post("/embargoes", data={"sha1hex": one, **until}, headers=OWN)
    assert tried().status_code == 403
    assert "You put this file under embargo" in admin.get(f"/takedowns?key={one}").text
    assert list(place.stores.records.find(TakedownRow)) == []
    curator.post("/embargoes", data={"sha1hex": one, **until}, headers=OWN)
    assert tried().status_code == 303
    (row,) = place.stores.records.get(TakedownRow, [one])
    assert row.finished is not None
    assert list(place.stores.records.find(EmbargoRow)) == []


def test_one_that_was_broken_off_stands_first_and_is_gone_on_with(
    home: tuple[GuardedHome, FilledHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, filled = home
    one, other = filled.pdfs[:2]
    admin = place.sign_in(Role.ADMIN)
    with monkeypatch.context() as broken:
        broken.setattr(TakedownService, "_purge_warcs", lambda self, row: row)
        admin.post("/takedowns", data=sent(one), headers=OWN)
    place.stores.records.put([TakedownRow(other, "copyright", "", "ann", NOW, TakedownRest(), NOW)])
    told = admin.get("/api/takedowns").json()
    assert told["unfinished"] == 1
    assert [each["sha1hex"] for each in told["files"]] == [one, other]
    page = PageRead(admin.get("/takedowns").text)
    assert "WARC still contains it" in page.words(f"//li[@id='t-{one}']")
    assert page.tree.xpath(f"//li[@id='t-{one}']//button/text()") == ["Continue takedown"]
    assert page.tree.xpath(f"//li[@id='t-{other}']//button") == []
    done = admin.post("/takedowns", data={"sha1hex": one}, headers=OWN)
    assert done.status_code == 303
    (row,) = place.stores.records.get(TakedownRow, [one])
    assert (row.reason_class, row.finished is not None) == ("privacy", True)


def test_while_another_process_works_on_the_home_nothing_is_done(tmp_path: Path) -> None:
    filled = fill_home(tmp_path)
    with open_guarded_home(tmp_path) as place:
        place.pages.state.home = tmp_path
        admin, data = place.sign_in(Role.ADMIN), sent(filled.pdfs[1])
        with HomeLock(tmp_path):
            answer = admin.post("/takedowns", data=data, headers=OWN)
        assert answer.status_code == 409
        assert list(place.stores.records.find(TakedownRow)) == []
        assert admin.post("/takedowns", data=data, headers=OWN).status_code == 303
        reader = place.sign_in(Role.READER)
        assert reader.get(f"/file/{filled.pdfs[1]}").status_code == 410
        assert filled.pdfs[1] not in reader.get("/api/search?q=measurement").text
