"""Bulk extraction: each record ends once and each body is read once, for any engine and worker count."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from fonds.bulk.local import LocalEngine
from fonds.config import load_settings
from fonds.ingest.bulk.extraction_manifest import (
    MANIFEST_FILE,
    ExtractionManifest,
    encode_ending_counts,
    reserve_folder,
    sum_manifests,
    write_manifest,
)
from fonds.ingest.bulk.extraction_rows import RESULT_COLUMNS
from fonds.ingest.bulk.parquet_files import open_result_files
from fonds.ingest.bulk.record_reading import (
    ReadingSteps,
    RecordState,
    decode_record,
    encode_record,
    run_step,
)
from fonds.ingest.sources.paths import PathSource
from fonds.model.disposition import DONE, Reason, Verdict, drop
from fonds.model.errors import (
    ConfigurationError,
    LimitError,
    StoreUnavailableError,
)
from fonds.model.file import IdentifiedCapture
from fonds.model.step import Result
from fonds.wiring.jobs import build_parquet_job, find_warcs
from made_warcs import OUTCOMES, WARCS, extraction, rows_in, write_warcs

RECORDS = sum(OUTCOMES.values())


def run_extraction(home: Path, crawl: Path, workers: int) -> tuple[Path, ExtractionManifest]:
    folder = home / "extracted"
    job = extraction(home, crawl, folder)
    reserve_folder(folder, job.name)
    manifest = sum_manifests(LocalEngine(home / "bulk", workers, workers).run(job))
    write_manifest(folder, manifest)
    return folder, manifest


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawl")
    write_warcs(folder)
    return folder


@pytest.fixture(scope="module")
def finished_extraction(
    tmp_path_factory: pytest.TempPathFactory, crawl: Path
) -> tuple[Path, ExtractionManifest]:
    return run_extraction(tmp_path_factory.mktemp("home"), crawl, 1)


def test_every_record_of_every_warc_ends_exactly_once(
    finished_extraction: tuple[Path, ExtractionManifest],
) -> None:
    folder, manifest = finished_extraction
    assert encode_ending_counts(manifest.total) == OUTCOMES
    assert manifest.unbalanced_warcs == []
    lines = [json.loads(line) for line in (folder / MANIFEST_FILE).read_text().splitlines()]
    assert len(lines) == WARCS
    assert all(warc["records"] == sum(warc["ended"].values()) == RECORDS // WARCS for warc in lines)
    captures = Counter(
        ":".join(filter(None, (row["verdict"], row["reason"])))
        for row in rows_in(folder, "captures")
    )
    assert captures == {k: v for k, v in OUTCOMES.items() if k != "dropped:not-a-capture"}


def test_each_body_is_read_once_and_its_contents_are_in_the_rows(
    finished_extraction: tuple[Path, ExtractionManifest],
) -> None:
    files = rows_in(finished_extraction[0], "files")
    assert len({file["sha1hex"] for file in files}) == len(files) == 10
    assert files == sorted(files, key=lambda file: file["sha1hex"])
    by_kind = Counter(file["kind"] for file in files)
    assert by_kind == {"pdf": 5, "story": 4, "jats": 1}
    paper = next(file for file in files if file["text"] and "Paper 1" in file["text"])
    assert (paper["status"], paper["page_count"]) == ("success", 1)
    assert paper["thumbnail"][:2] == b"\xff\xd8"
    assert "pdf_extra" in json.loads(paper["metadata"])
    article = next(file for file in files if file["kind"] == "jats")
    assert (article["status"], article["doi"]) == ("success", "10.1000/air.5")
    assert (article["title"], article["authors"]) == ("On the Weight of Air", ["Ada B Example"])
    assert article["publication_date"] == date(2020, 3, 7)
    assert all(file["datetime"].tzinfo is not None for file in files)
    assert "weighed twice" in article["text"]
    cited = json.loads(article["metadata"])["bibliography"]["citations"]
    assert [citation["doi"] for citation in cited] == ["10.1000/g"]
    story = next(file for file in files if file["title"] == "Bridge number 2 is decided")
    assert "council of town 2" in story["text"]
    assert story["story_id"]
    assert story["warc_path"].endswith("crawl-2.warc.gz")


def test_two_workers_write_the_same_rows_as_one(
    tmp_path: Path, crawl: Path, finished_extraction: tuple[Path, ExtractionManifest]
) -> None:
    folder, manifest = run_extraction(tmp_path, crawl, 2)
    assert (manifest.records, manifest.endings) == (
        finished_extraction[1].records,
        finished_extraction[1].endings,
    )
    for name in RESULT_COLUMNS:
        assert rows_in(folder, name) == rows_in(finished_extraction[0], name)


def test_a_range_written_twice_is_counted_once(
    tmp_path: Path, crawl: Path, finished_extraction: tuple[Path, ExtractionManifest]
) -> None:
    job = extraction(tmp_path, crawl, tmp_path / "out")
    records = sorted(record for part in job.parts for record in job.read(part))
    first = [*job.write(0, iter(records))]
    (tmp_path / "out/files/.part-00000.1.unfinished").write_bytes(b"of a process that was killed")
    assert [*job.write(0, iter(records))] == first
    write_manifest(tmp_path / "out", sum_manifests(first))
    assert rows_in(tmp_path / "out", "captures") == rows_in(finished_extraction[0], "captures")
    assert [path.name for path in (tmp_path / "out/files").iterdir()] == ["part-00000.parquet"]


def test_a_job_can_be_pickled_and_its_name_depends_on_inputs_and_output(
    tmp_path: Path, crawl: Path
) -> None:
    job = extraction(tmp_path, crawl, tmp_path / "out")
    assert pickle.loads(pickle.dumps(job)).name == job.name
    assert extraction(tmp_path, crawl, tmp_path / "out").name == job.name
    assert extraction(tmp_path, crawl, tmp_path / "other").name != job.name
    fewer = find_warcs([str(crawl / "crawl-0.warc.gz")], tmp_path, load_settings(tmp_path, {}))
    parquet_job = build_parquet_job(fewer, tmp_path / "out", tmp_path, load_settings(tmp_path, {}))
    assert parquet_job.name != job.name


def test_another_jats_reader_makes_another_job(
    tmp_path: Path, crawl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would resume the previous job and keep the results of the older reader."""
    job = extraction(tmp_path, crawl, tmp_path / "out")
    monkeypatch.setattr("fonds.wiring.jobs.JATS_VERSION", "another")
    assert extraction(tmp_path, crawl, tmp_path / "out").name != job.name


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    reserve_folder(tmp_path / "out", "extract-1")
    reserve_folder(tmp_path / "out", "extract-1")
    with pytest.raises(ConfigurationError, match="other WARCs"):
        reserve_folder(tmp_path / "out", "extract-2")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("x")
    with pytest.raises(ConfigurationError, match="not empty"):
        reserve_folder(tmp_path / "mine", "extract-1")


def test_unbalanced_warcs_are_reported() -> None:
    manifest = ExtractionManifest()
    manifest.records["a.warc"] += 2
    manifest.note_end("a.warc", DONE)
    assert manifest.unbalanced_warcs == ["a.warc"]
    manifest.note_end("a.warc", drop(Reason.DUPLICATE))
    assert sum_manifests(manifest.iter_lines()).unbalanced_warcs == []


def test_an_unreadable_record_ends_and_an_unavailable_store_stops_the_job(
    tmp_path: Path, crawl: Path
) -> None:
    def run_failing_step(error: Exception) -> Result:
        def step(item: object) -> Result:
            raise error

        return run_step(step, None)

    assert (
        run_failing_step(LimitError(Reason.TOO_LARGE, "long")).disposition.verdict
        is Verdict.DROPPED
    )
    assert run_failing_step(ValueError("x")).disposition.reason is Reason.INTERNAL_ERROR
    with pytest.raises(StoreUnavailableError):
        run_failing_step(StoreUnavailableError("away"))
    with pytest.raises(StoreUnavailableError, match="not enough memory"):
        run_failing_step(MemoryError())
    assert ReadingSteps({}, lambda: None).steps == {}


def test_an_encoded_record_decodes_to_the_same_state(tmp_path: Path, crawl: Path) -> None:
    row = find_warcs([str(crawl)], tmp_path, load_settings(tmp_path, {})).rows[0]
    source = PathSource((), tmp_path, "", "")
    capture: Any = next(entry.item for entry in source.iter_entries(row) if hasattr(entry, "item"))
    state = RecordState(
        IdentifiedCapture(capture, None), drop(Reason.HTTP_STATUS, "tab\tand\nline end")
    )
    record = encode_record(state)
    assert b"\n" not in record
    assert decode_record(record) == state


def test_an_interrupted_write_leaves_no_files(tmp_path: Path) -> None:
    def write_and_fail() -> None:
        with open_result_files(tmp_path, RESULT_COLUMNS, 3) as to:
            to.add("captures", dict.fromkeys(RESULT_COLUMNS["captures"]))
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        write_and_fail()
    assert [*tmp_path.glob("*/*")] == []
