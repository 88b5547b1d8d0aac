"""Nothing is followed out of a folder that was named unless somebody says so, and then it is noted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fixtures.warcs import gzipped, http_response
from fonds.archive.store.folder import FolderArchive
from fonds.extract.mime import describe
from fonds.ingest.sources.indexes import find_in_folder
from fonds.ingest.sources.paths import PathSource
from fonds.ingest.steps.identify import IdentifyStep
from fonds.model.capture import Capture
from fonds.model.disposition import Reason, Verdict
from fonds.model.errors import PermanentError


def _captures(source: PathSource) -> list[Capture]:
    entries = [entry for row in source.iter_inputs() for entry in source.iter_entries(row)]
    items = [getattr(entry, "item", None) for entry in entries]
    return [item for item in items if isinstance(item, Capture)]


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """A folder with an index whose WARC, and a page beside it, are links out of the folder."""
    named, outside = tmp_path / "named", tmp_path / "outside"
    named.mkdir()
    outside.mkdir()
    warc = gzipped([http_response(b"<p>secret", url="http://a.example/")])
    (outside / "secret.warc.gz").write_bytes(warc)
    (outside / "page.html").write_bytes(b"<p>not named")
    (named / "here.warc.gz").symlink_to(outside / "secret.warc.gz")
    (named / "page.html").symlink_to(outside / "page.html")
    fields = {"url": "http://a.example/", "mime": "text/html", "status": "200", "offset": "0"}
    fields |= {"length": str(len(warc)), "filename": "here.warc.gz"}
    (named / "index.cdxj").write_text(f"example,a)/ 20260101000000 {json.dumps(fields)}\n")
    return named


def _source(named: Path, *, follow: bool) -> PathSource:
    return PathSource([named], named.parent / "home", "default", "", follow)


def test_links_out_are_entries_that_say_where_they_lead(named: Path) -> None:
    found = {Path(one.place.path).name: one for one in _captures(_source(named, follow=False))}
    assert {one.damage_reason for one in found.values()} == {Reason.NOT_FOLLOWED}
    assert found.keys() == {"here.warc.gz", "page.html", "index.cdxj"}
    outside = named.parent / "outside"
    assert found["page.html"].damage == f"the link points to {outside / 'page.html'}"
    assert "line 1: " in (found["index.cdxj"].damage or "")


def test_with_follow_they_are_noted_and_what_is_behind_them_is_taken_in(named: Path) -> None:
    found = _captures(_source(named, follow=True))
    noted = [one for one in found if one.damage_reason is Reason.FOLLOWED]
    assert sorted(Path(one.place.path).name for one in noted) == ["here.warc.gz", "page.html"]
    read = [one for one in found if one.damage is None]
    assert sorted(one.url for one in read)[1:] == ["http://a.example/", "http://a.example/"]
    assert len({one.id for one in found}) == len(found) == 5


def test_told_to_follow_later_it_looks_again(named: Path) -> None:
    before, after = (
        {row.input_id for row in _source(named, follow=follow).iter_inputs()}
        for follow in (False, True)
    )
    assert not before & after


def test_a_link_is_set_aside_or_refused_and_not_read(named: Path) -> None:
    identify = IdentifyStep(FolderArchive(named.parent / "archive"), describe, 10_000, 10_000)
    for follow, reason in ((False, Reason.NOT_FOLLOWED), (True, Reason.FOLLOWED)):
        for one in _captures(_source(named, follow=follow)):
            if one.damage is not None:
                ended = identify(one).disposition
                assert (ended.verdict, ended.reason) == (Verdict.DROPPED, reason)


def test_a_base_that_is_named_is_not_left_either(named: Path) -> None:
    with pytest.raises(PermanentError) as told:
        find_in_folder("here.warc.gz", named, str(named))
    assert told.value.reason is Reason.NOT_FOLLOWED
    below = find_in_folder("here.warc.gz", named, str(named), follows_links=True)
    assert below == str(named / "here.warc.gz")
    assert find_in_folder("gone.warc.gz", named, str(named)) == str(named / "gone.warc.gz")
