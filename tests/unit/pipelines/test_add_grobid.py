"""Flavours that read PDFs send them to GROBID if it is configured."""

from __future__ import annotations

import pytest

from fonds.pipelines.flavours.papers import add_grobid
from fonds.pipelines.flavours.registry import PIPELINES
from fonds.pipelines.flavours.stages import UNGROBIDED

PDF_FLAVOURS = [
    name
    for name, build in PIPELINES.items()
    if "extract_pdf" in {stage.step for stage in build(()).stages}
]


@pytest.mark.parametrize("name", PDF_FLAVOURS)
def test_persist_file_sends_pdfs_to_grobid(name: str) -> None:
    stages = {stage.step: stage for stage in add_grobid(PIPELINES[name](()), 4).stages}
    assert UNGROBIDED in stages["persist_file"].writes
    assert UNGROBIDED.output not in stages["persist_file"].omits
    assert (stages["grobid"].reads, stages["grobid"].threads) == (UNGROBIDED, 4)


def test_a_flavour_without_pdfs_is_unchanged() -> None:
    stories = PIPELINES["stories-only"](())
    assert add_grobid(stories, 4) == stories
