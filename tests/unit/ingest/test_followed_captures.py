"""Links that lead out of a named folder are followed only with `follow`, and each is recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fixtures.warcs import gzip_records, http_response
from fonds.archive.store.folder import FolderArchive
from fonds.extract.mime import describe
from fonds.ingest.sources.indexes import find_in_folder
from fonds.ingest.sources.paths import PathSource
from fonds.ingest.steps.identify import IdentifyStep
from fonds.model.capture import Capture
from fonds.model.disposition import Reason, Verdict
from fonds.model.errors import PermanentError


def list_captures(source: PathSource) -> list[Capture]:
    entries = [entry for row in source.iter_inputs() for entry in source.iter_entries(row)]
    items = [getattr(entry, "item", None) for entry in entries]
    return [item for item in items if isinstance(item, Capture)]


@pytest.fixture
def input_folder(tmp_path: Path) -> Path:
    """A folder with an index, its WARC and a page; WARC and page are links out of the folder."""
    folder, outside = tmp_path / "named", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    warc = gzip_records([http_response(b"<p>secret", url="http://a.example/")])
    (outside / "secret.warc.gz").write_bytes(warc)
    (outside / "page.html").write_bytes(b"<p>not named")
    (folder / "here.warc.gz").symlink_to(outside / "secret.warc.gz")
    (folder / "page.html").symlink_to(outside / "page.html")
    fields = {"url": "http://a.example/", "mime": "text/html", "status": "200", "offset": "0"}
    fields |= {"length": str(len(warc)), "filename": "here.warc.gz"}
    (folder / "index.cdxj").write_text(f"example,a)/ 20260101000000 {json.dumps(fields)}\n")
    return folder


def create_source(input_folder: Path, *, follow: bool) -> PathSource:
    return PathSource([input_folder], input_folder.parent / "home", "default", "", follow)


def test_links_out_of_the_folder_are_entries_that_state_their_target(input_folder: Path) -> None:
    captures = {
        Path(capture.place.path).name: capture
        for capture in list_captures(create_source(input_folder, follow=False))
    }
    assert {capture.damage_reason for capture in captures.values()} == {Reason.NOT_FOLLOWED}
    assert captures.keys() == {"here.warc.gz", "page.html", "index.cdxj"}
    outside = input_folder.parent / "outside"
    assert captures["page.html"].damage == f"the link points to {outside / 'page.html'}"
    assert "line 1: " in (captures["index.cdxj"].damage or "")


def test_with_follow_links_are_recorded_and_their_targets_ingested(input_folder: Path) -> None:
    captures = list_captures(create_source(input_folder, follow=True))
    followed = [capture for capture in captures if capture.damage_reason is Reason.FOLLOWED]
    assert sorted(Path(capture.place.path).name for capture in followed) == [
        "here.warc.gz",
        "page.html",
    ]
    ingested = [capture for capture in captures if capture.damage is None]
    assert sorted(capture.url for capture in ingested)[1:] == [
        "http://a.example/",
        "http://a.example/",
    ]
    assert len({capture.id for capture in captures}) == len(captures) == 5


def test_with_follow_the_inputs_have_other_ids(input_folder: Path) -> None:
    before, after = (
        {row.input_id for row in create_source(input_folder, follow=follow).iter_inputs()}
        for follow in (False, True)
    )
    assert not before & after


def test_a_link_is_dropped_without_being_read(input_folder: Path) -> None:
    identify = IdentifyStep(
        FolderArchive(input_folder.parent / "archive"), describe, 10_000, 10_000
    )
    for follow, reason in ((False, Reason.NOT_FOLLOWED), (True, Reason.FOLLOWED)):
        for capture in list_captures(create_source(input_folder, follow=follow)):
            if capture.damage is not None:
                disposition = identify(capture).disposition
                assert (disposition.verdict, disposition.reason) == (Verdict.DROPPED, reason)


def test_a_path_below_a_named_base_is_not_followed_out_of_it(input_folder: Path) -> None:
    with pytest.raises(PermanentError) as raised:
        find_in_folder("here.warc.gz", input_folder, str(input_folder))
    assert raised.value.reason is Reason.NOT_FOLLOWED
    path = find_in_folder("here.warc.gz", input_folder, str(input_folder), follows_links=True)
    assert path == str(input_folder / "here.warc.gz")
    assert find_in_folder("gone.warc.gz", input_folder, str(input_folder)) == str(
        input_folder / "gone.warc.gz"
    )
