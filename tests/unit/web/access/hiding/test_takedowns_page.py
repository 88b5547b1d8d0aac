"""Curators preview a takedown, and admins take a file down on the page. Others are refused."""

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
    filled_home = fill_home(tmp_path)
    with open_guarded_home(tmp_path) as guarded_home:
        yield guarded_home, filled_home


def build_form(sha1hex: str, **changes: str) -> dict[str, str]:
    fields = {"reason": "privacy", "note": "letter <b> of May", "sure": "yes"}
    return {"sha1hex": sha1hex, **fields} | changes


def test_the_page_previews_a_takedown_and_then_does_it(
    home: tuple[GuardedHome, FilledHome],
) -> None:
    guarded_home, filled_home = home
    sha1hex = filled_home.pdfs[1]
    admin, reader = guarded_home.sign_in(Role.ADMIN), guarded_home.sign_in(Role.READER)
    assert f"/takedowns?key={sha1hex}" in PageRead(admin.get(f"/file/{sha1hex}").text).links(
        "//main"
    )
    preview = admin.get(f"/api/takedowns?key={sha1hex}").json()
    (candidate,) = preview["candidates"]
    traces = find_traces(guarded_home.stores, None, sha1hex)
    assert candidate["title"] == "On the measurement of water levels"
    assert candidate["traces"]["rows"] == traces.rows
    assert candidate["traces"]["blobs"] == list(traces.blobs)
    page = PageRead(admin.get(f"/takedowns?key={sha1hex}").text)
    assert "1 matching file" in page.words()
    assert f"{sum(traces.rows.values())} in " in page.words("//article")
    assert traces.has_any
    response = admin.post("/takedowns", data=build_form(sha1hex), headers=OWN)
    assert (response.status_code, response.headers["location"]) == (303, f"/takedowns#t-{sha1hex}")
    (row,) = guarded_home.stores.records.get(TakedownRow, [sha1hex])
    assert (row.made_by, row.reason_class, row.note) == ("admin", "privacy", "letter <b> of May")
    assert row.finished is not None
    assert not find_traces(guarded_home.stores, None, sha1hex).has_any
    assert reader.get(f"/file/{sha1hex}").status_code == 410
    data = admin.get("/api/takedowns").json()
    assert [file["sha1hex"] for file in data["files"]] == [sha1hex]
    assert data["candidates"] == []
    assert "letter <b> of May" in PageRead(admin.get("/takedowns").text).words()
    log_lines = [log_row.what for log_row in guarded_home.stores.records.find(ActRow)]
    assert f"POST /takedowns {sha1hex} privacy" in log_lines


def test_a_file_is_found_by_url_name_and_hash_prefix(home: tuple[GuardedHome, FilledHome]) -> None:
    guarded_home, filled_home = home
    curator = guarded_home.sign_in(Role.CURATOR)
    (capture,) = guarded_home.stores.records.find(
        CdxRow, {"sha1hex": filled_home.pdfs[1]}, count_max=1
    )
    for key in (capture.url, capture.url.rpartition("/")[2], filled_home.pdfs[1][:8]):
        data = curator.get("/api/takedowns", params={"key": key}).json()
        assert filled_home.pdfs[1] in [row["sha1hex"] for row in data["candidates"]], key
    assert curator.get("/takedowns", params={"key": "http://nowhere.example/"}).status_code == 404
    response = curator.get("/api/takedowns", params={"key": filled_home.pdfs[1][:6]})
    assert response.status_code == 404
    assert "at least the first 8 characters" in response.text


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
def test_invalid_takedowns_are_refused(
    home: tuple[GuardedHome, FilledHome], changes: dict[str, str]
) -> None:
    guarded_home, filled_home = home
    admin = guarded_home.sign_in(Role.ADMIN)
    response = admin.post("/takedowns", data=build_form(filled_home.pdfs[1]) | changes, headers=OWN)
    assert response.status_code == 400
    assert "<b>" not in response.text
    assert list(guarded_home.stores.records.find(TakedownRow)) == []


def test_only_admins_on_the_same_site_can_take_files_down(
    home: tuple[GuardedHome, FilledHome],
) -> None:
    guarded_home, filled_home = home
    data = build_form(filled_home.pdfs[1])
    for client in (
        guarded_home.client(),
        guarded_home.sign_in(Role.READER),
        guarded_home.sign_in(Role.CURATOR),
    ):
        assert client.post("/takedowns", data=data, headers=OWN).status_code in (401, 403)
    for headers in ({}, {"sec-fetch-site": "cross-site"}, {"Origin": "http://other.example"}):
        admin = guarded_home.sign_in(Role.ADMIN)
        assert admin.post("/takedowns", data=data, headers=headers).status_code == 403
    assert guarded_home.sign_in(Role.READER).get("/takedowns").status_code == 403
    curator = PageRead(
        guarded_home.sign_in(Role.CURATOR).get(f"/takedowns?key={filled_home.pdfs[1]}").text
    )
    assert curator.tree.xpath("//form[@method='post'][@action='/takedowns']") == []
    assert "Only an admin can take this file down." in curator.words()
    assert list(guarded_home.stores.records.find(TakedownRow)) == []


def test_a_takedown_needs_an_embargo_by_a_second_person(
    home: tuple[GuardedHome, FilledHome],
) -> None:
    guarded_home, filled_home = home
    sha1hex = filled_home.pdfs[1]
    guarded_home.pages.state.settings = load_settings(
        Path(guarded_home.pages.state.home or "."), {"web.takedown_needs_two": "true"}
    )
    admin, curator = guarded_home.sign_in(Role.ADMIN), guarded_home.sign_in(Role.CURATOR)
    embargo = {"until": "2999-05-01", "reason": "privacy", "note": ""}

    def take_down() -> Any:
        return admin.post("/takedowns", data=build_form(sha1hex), headers=OWN)

    assert take_down().status_code == 403
    assert "A takedown needs two people" in admin.get(f"/takedowns?key={sha1hex}").text
    admin.post("/embargoes", data={"sha1hex": sha1hex, **embargo}, headers=OWN)
    assert take_down().status_code == 403
    assert "You put this file under embargo" in admin.get(f"/takedowns?key={sha1hex}").text
    assert list(guarded_home.stores.records.find(TakedownRow)) == []
    curator.post("/embargoes", data={"sha1hex": sha1hex, **embargo}, headers=OWN)
    assert take_down().status_code == 303
    (row,) = guarded_home.stores.records.get(TakedownRow, [sha1hex])
    assert row.finished is not None
    assert list(guarded_home.stores.records.find(EmbargoRow)) == []


def test_an_interrupted_takedown_is_listed_first_and_can_continue(
    home: tuple[GuardedHome, FilledHome], monkeypatch: pytest.MonkeyPatch
) -> None:
    guarded_home, filled_home = home
    interrupted, finished = filled_home.pdfs[:2]
    admin = guarded_home.sign_in(Role.ADMIN)
    with monkeypatch.context() as patch:
        patch.setattr(TakedownService, "_purge_warcs", lambda self, row: row)
        admin.post("/takedowns", data=build_form(interrupted), headers=OWN)
    guarded_home.stores.records.put(
        [TakedownRow(finished, "copyright", "", "ann", NOW, TakedownRest(), NOW)]
    )
    data = admin.get("/api/takedowns").json()
    assert data["unfinished"] == 1
    assert [file["sha1hex"] for file in data["files"]] == [interrupted, finished]
    page = PageRead(admin.get("/takedowns").text)
    assert "WARC still contains the file" in page.words(f"//li[@id='t-{interrupted}']")
    assert page.tree.xpath(f"//li[@id='t-{interrupted}']//button/text()") == ["Continue takedown"]
    assert page.tree.xpath(f"//li[@id='t-{finished}']//button") == []
    response = admin.post("/takedowns", data={"sha1hex": interrupted}, headers=OWN)
    assert response.status_code == 303
    (row,) = guarded_home.stores.records.get(TakedownRow, [interrupted])
    assert (row.reason_class, row.finished is not None) == ("privacy", True)


def test_a_locked_home_refuses_takedowns(tmp_path: Path) -> None:
    filled_home = fill_home(tmp_path)
    with open_guarded_home(tmp_path) as guarded_home:
        guarded_home.pages.state.home = tmp_path
        admin, data = guarded_home.sign_in(Role.ADMIN), build_form(filled_home.pdfs[1])
        with HomeLock(tmp_path):
            response = admin.post("/takedowns", data=data, headers=OWN)
        assert response.status_code == 409
        assert list(guarded_home.stores.records.find(TakedownRow)) == []
        assert admin.post("/takedowns", data=data, headers=OWN).status_code == 303
        reader = guarded_home.sign_in(Role.READER)
        assert reader.get(f"/file/{filled_home.pdfs[1]}").status_code == 410
        assert filled_home.pdfs[1] not in reader.get("/api/search?q=measurement").text
