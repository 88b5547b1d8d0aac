"""archive_unparsed: what lies in no WARC goes to the archive, the rest only to be copied."""

from __future__ import annotations

import pytest

from fonds.ingest.steps.archive_body import (
    ArchiveUnparsedStep,
)
from fonds.model.disposition import DONE
from fonds.model.file import UnparsedPage
from fonds.model.story import UnarchivedBody
from step_bench import PAGE, Bench, page_file


@pytest.mark.parametrize("copy_bodies", [False, True])
def test_a_loose_page_goes_to_the_archive(bench: Bench, copy_bodies: bool) -> None:
    capture = bench.write_file(PAGE)
    result = ArchiveUnparsedStep(copy_bodies)(UnparsedPage(capture, page_file()))
    assert result.disposition == DONE
    assert result.items == (UnarchivedBody(capture, page_file()),)


def test_a_page_in_a_warc_stays_there_unless_bodies_are_copied(bench: Bench) -> None:
    (capture,) = bench.in_warc(PAGE)
    item = UnparsedPage(capture, page_file())
    assert ArchiveUnparsedStep(copies_bodies=False)(item).items == ()
    assert ArchiveUnparsedStep(copies_bodies=True)(item).items == (
        UnarchivedBody(capture, page_file()),
    )
