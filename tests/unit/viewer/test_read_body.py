"""Reading the body of a file from a place that still has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from filled_crawl import report_pdfs
from filled_home import FilledHome, fill_home, open_home
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.model.rows import CdxRow
from fonds.ports import Stores
from fonds.viewer.description import FileDescription, build_description, read_body


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stores, FilledHome]]:
    folder = tmp_path_factory.mktemp("home")
    filled_home = fill_home(folder)
    with open_home(folder) as stores:
        yield stores, filled_home


def with_captures(description: FileDescription, *captures: CdxRow) -> FileDescription:
    return replace(description, captures=captures)


def test_the_body_is_read_from_the_first_place_that_has_it(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled_home = home
    description = build_description(stores, filled_home.long)
    good = description.captures[0]
    deleted = replace(good, warc_path="fonds-deleted.warc.gz")
    revisit = replace(good, mimetype="warc/revisit", warc_offset=10**9)
    assert (
        read_body(stores, with_captures(description, revisit, deleted, good)) == report_pdfs()[-1]
    )


def test_other_bytes_at_the_place_raise_an_error(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled_home = home
    description, other_description = (
        build_description(stores, filled_home.long),
        build_description(stores, filled_home.pdfs[0]),
    )
    with pytest.raises(PermanentError, match=f"no longer match {filled_home.long}") as error:
        read_body(stores, with_captures(description, other_description.captures[0]))
    assert error.value.reason is Reason.DAMAGED_RECORD


def test_a_missing_warc_is_reported_by_name(home: tuple[Stores, FilledHome]) -> None:
    stores, filled_home = home
    description = build_description(stores, filled_home.long)
    deleted = replace(description.captures[0], warc_path="fonds-deleted.warc.gz")
    with pytest.raises(PermanentError, match=r"deleted\.warc\.gz") as error:
        read_body(stores, with_captures(description, deleted))
    assert error.value.reason is Reason.MISSING_SOURCE


def test_a_file_without_a_capture_in_a_warc_raises_an_error(
    home: tuple[Stores, FilledHome],
) -> None:
    stores, filled_home = home
    with pytest.raises(PermanentError, match=f"No WARC has a capture of {filled_home.lost}"):
        read_body(stores, build_description(stores, filled_home.lost))


def test_a_body_cannot_be_read_from_a_home_moved_elsewhere(tmp_path: Path) -> None:
    filled_home = fill_home(tmp_path / "old")
    (tmp_path / "old" / "archive").rename(tmp_path / "elsewhere")
    with open_home(tmp_path / "old") as stores, pytest.raises(PermanentError, match="fonds-"):
        read_body(stores, build_description(stores, filled_home.long))
