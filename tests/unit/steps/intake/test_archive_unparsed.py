"""archive_unparsed: what lies in no WARC goes to the archive, the rest only to be copied."""

from __future__ import annotations

import pytest

from fonds.model.disposition import DONE
from fonds.model.file import Unparsed
from fonds.model.story import Unarchived
from fonds.steps.intake.archive_unparsed import ArchiveUnparsed
from step_bench import PAGE, Bench, page_file


@pytest.mark.parametrize("copy_bodies", [False, True])
def test_a_loose_page_goes_to_the_archive(bench: Bench, copy_bodies: bool) -> None:
    capture = bench.loose(PAGE)
    result = ArchiveUnparsed(copy_bodies)(Unparsed(capture, page_file()))
    assert result.disposition == DONE
    assert result.items == (Unarchived(capture, page_file()),)


def test_a_page_in_a_warc_stays_there_unless_bodies_are_copied(bench: Bench) -> None:
    (capture,) = bench.in_warc(PAGE)
    item = Unparsed(capture, page_file())
    assert ArchiveUnparsed(copy_bodies=False)(item).items == ()
    assert ArchiveUnparsed(copy_bodies=True)(item).items == (Unarchived(capture, page_file()),)
