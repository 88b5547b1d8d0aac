"""persist_thumbnail: stores the picture of page 0 under its documented key."""

from __future__ import annotations

import pytest

from fonds.ingest.steps.persist_pdf import (
    PersistThumbnailStep,
)
from fonds.model.disposition import DONE
from fonds.model.pdf import PAGE0_FORM, Thumbnail
from step_bench import Bench

KEY, OTHER_KEY = "ab12" + "0" * 36, "cd34" + "0" * 36


@pytest.fixture
def step(bench: Bench) -> PersistThumbnailStep:
    return PersistThumbnailStep(bench.blobs, bench.records)


def test_each_thumbnail_is_stored_under_the_sha1_of_its_pdf(
    step: PersistThumbnailStep, bench: Bench
) -> None:
    results = step(
        [Thumbnail(KEY, PAGE0_FORM, b"first"), Thumbnail(OTHER_KEY, PAGE0_FORM, b"second")]
    )
    assert [(result.disposition, result.items) for result in results] == [(DONE, ()), (DONE, ())]
    assert bench.blobs.get(f"thumbnail/pdf/ab/12/{KEY}.180px.jpg") == b"first"
    assert bench.blobs.get(f"thumbnail/pdf/cd/34/{OTHER_KEY}.180px.jpg") == b"second"


def test_persisting_twice_stores_one_file_and_the_newest_wins(
    step: PersistThumbnailStep, bench: Bench
) -> None:
    step([Thumbnail(KEY, PAGE0_FORM, b"older"), Thumbnail(KEY, PAGE0_FORM, b"older")])
    step([Thumbnail(KEY, PAGE0_FORM, b"newer")])
    assert bench.blobs.get(f"thumbnail/pdf/ab/12/{KEY}.180px.jpg") == b"newer"
    files = [path for path in (bench.home / "blobs").rglob("*.jpg") if path.is_file()]
    assert len(files) == 1


def test_an_empty_batch_returns_no_results(step: PersistThumbnailStep) -> None:
    assert step([]) == []
