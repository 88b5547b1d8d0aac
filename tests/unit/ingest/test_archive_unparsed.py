"""archive_unparsed: bodies outside WARCs are archived; others only if bodies are copied."""

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
def test_a_loose_page_is_archived(bench: Bench, copy_bodies: bool) -> None:
    capture = bench.write_file(PAGE)
    result = ArchiveUnparsedStep(copy_bodies)(UnparsedPage(capture, page_file()))
    assert result.disposition == DONE
    assert result.items == (UnarchivedBody(capture, page_file()),)


def test_a_page_in_a_warc_is_archived_only_if_bodies_are_copied(bench: Bench) -> None:
    (capture,) = bench.in_warc(PAGE)
    item = UnparsedPage(capture, page_file())
    assert ArchiveUnparsedStep(copies_bodies=False)(item).items == ()
    assert ArchiveUnparsedStep(copies_bodies=True)(item).items == (
        UnarchivedBody(capture, page_file()),
    )
