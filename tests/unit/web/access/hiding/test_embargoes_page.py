"""The list of files under embargo, for curators."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from filled_home import fill_home
from fonds.model.access import Role
from fonds.model.rows import EmbargoRow
from fonds.restrictions.embargo import EmbargoService
from guarded_home import open_guarded_home
from home_rows import NOW
from page_reading import PageRead


def test_curators_see_hidden_files_in_order_of_their_end(tmp_path: Path) -> None:
    filled_home = fill_home(tmp_path)
    with open_guarded_home(tmp_path) as home:
        files = [filled_home.pdfs[1], filled_home.stories[1]]
        service = EmbargoService(home.stores, None, lambda: NOW)
        for days, sha1hex in enumerate(files, start=1):
            until = NOW + timedelta(days=3 - days)
            service.hide(EmbargoRow(sha1hex, "review", f"<b>note {days}</b>", until, "ann", NOW))
        unknown = "0" * 40
        service.hide(EmbargoRow(unknown, "rights", "", NOW + timedelta(days=9), "ann", NOW))
        curator = home.sign_in(Role.CURATOR)
        page = PageRead(curator.get("/embargoes").text)
        assert page.heading == "3 files are under embargo"
        links = page.tree.xpath("//main//li//a")
        assert [link.get("href") for link in links] == [
            f"/file/{sha1hex}" for sha1hex in (files[1], files[0], unknown)
        ]
        titles = [link.text_content() for link in links]
        assert titles[2] == unknown
        assert files[0] not in titles
        assert files[1] not in titles
        assert "<b>note 1</b>" in page.words()
        data = curator.get("/api/embargoes").json()
        assert data == curator.get("/embargoes.json").json()
        assert [row["title"] for row in data["files"]] == [*titles[:2], None]
        assert titles[1] in PageRead(curator.get(f"/file/{files[0]}").text).heading
        assert home.sign_in(Role.READER).get("/embargoes").status_code == 403
        assert home.client().get("/api/embargoes").status_code == 401
        assert "/embargoes" not in home.sign_in(Role.READER).get("/").text
        for sha1hex in (*files, unknown):
            service.lift(sha1hex)
        assert PageRead(curator.get("/embargoes").text).heading == "No embargoes"
        assert curator.get("/api/embargoes").json() == {"files": [], "total": 0}
