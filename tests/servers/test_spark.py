"""Bulk jobs on a real Spark cluster: they leave what this machine's processes leave."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import pytest

from bulk_jobs import captures_job, generate_cdx_lines, open_hbase_collections, read_rows, word_job
from engine_rebuilds import build_engine_passes, fill_collection, read_rebuilt_rows
from fonds.bulk.local import LocalEngine
from fonds.bulk.spark import SparkEngine
from fonds.bulk.tallies import build_report, sum_tallies
from fonds.grouping.changes.curation import exclude
from fonds.grouping.configuration import build_configuration, save_configuration
from fonds.grouping.rebuild.rebuild import rebuild
from fonds.grouping.tables import READINGS
from fonds.grouping.views.clusters import load_clusters
from fonds.grouping.views.documents import list_placements
from fonds.ingest.bulk.extraction_manifest import encode_ending_counts as as_counts
from fonds.ingest.bulk.extraction_manifest import sum_manifests
from fonds.ingest.bulk.extraction_rows import RESULT_COLUMNS
from fonds.model.errors import StoreUnavailableError
from kept_collections import NEWS, find_faults, themed_documents
from made_warcs import OUTCOMES, extraction, rows_in, write_warcs
from real_servers import url_of

pytestmark = pytest.mark.servers


@pytest.fixture
def spark() -> SparkEngine:
    """The cluster; its executors find the jobs of the tests where this process does."""
    options = {
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[1]),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    return SparkEngine(f"{url_of('TEST_SPARK_URL')}?{urlencode(options)}")


def test_records_are_sorted_and_divided_as_on_one_machine(
    spark: SparkEngine, tmp_path: Path
) -> None:
    ranges = (b"00250", b"00500 2", b"00900")
    here = [*LocalEngine(tmp_path, 1, 1, 500).run(word_job("words", 6, ranges))]
    assert [*spark.run(word_job("words", 6, ranges))] == here


def test_a_rebuild_leaves_the_same_rows_as_in_one_process(
    spark: SparkEngine, tmp_path: Path
) -> None:
    here, there = fill_collection(tmp_path / "here"), fill_collection(tmp_path / "there")
    first = rebuild(here.changes, NEWS, "deep", threads=1)
    passes = build_engine_passes(spark, tmp_path / "there")
    assert rebuild(there.changes, NEWS, "deep", threads=1, passes=passes) == first
    assert read_rebuilt_rows(there) == read_rebuilt_rows(here)
    for kept in (here, there):
        kept.close()


def test_on_hbase_rebuilds_leave_the_rows_one_process_leaves_in_a_file(
    spark: SparkEngine, tmp_path: Path
) -> None:
    there_url, prefix = url_of("TEST_HBASE_URL"), f"t{os.urandom(5).hex()}_"
    opens = partial(open_hbase_collections, there_url, prefix)
    here, there = (
        fill_collection(tmp_path / "here"),
        fill_collection(tmp_path / "there", tables=opens()),
    )
    passes = build_engine_passes(spark, tmp_path / "there", opens)
    more = [replace(one, id=f"more-{one.id}") for one in themed_documents(60, seed=2)]
    theme = ""
    for conf in ("deep", "deep", "dense"):
        first = rebuild(here.changes, NEWS, conf, threads=1)
        assert rebuild(there.changes, NEWS, conf, threads=1, passes=passes) == first
        assert read_rebuilt_rows(there) == read_rebuilt_rows(here)
        for kept in (here, there):
            kept.changes.put(NEWS, more)
        if not theme:
            theme = (
                next(
                    placement.cluster_id
                    for placement in list_placements(here.tables, NEWS, "d0")
                    if placement.label
                )
                or ""
            )
            for kept in (here, there):
                exclude(kept.changes, NEWS, conf, theme, ["d0"])
    assert theme not in {
        placement.cluster_id for placement in list_placements(there.tables, NEWS, "d0")
    }
    served = [load_clusters(kept.tables, NEWS, "deep") for kept in (here, there)]
    assert served[0] == served[1] is not None
    assert find_faults(there.tables, NEWS) == []
    assert read_rebuilt_rows(there)[READINGS] == []
    for kept in (here, there):
        kept.close()


def test_executors_encode_texts_as_one_process_does(spark: SparkEngine, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the extra `dense` is not installed")
    here, there = fill_collection(tmp_path / "here"), fill_collection(tmp_path / "there")
    for kept in (here, there):
        save_configuration(
            kept.tables, "news", "meant", build_configuration({"clusters": 5, "encoder": "minilm"})
        )
    first = rebuild(here.changes, NEWS, "meant", threads=1)
    passes = build_engine_passes(spark, tmp_path / "there")
    assert rebuild(there.changes, NEWS, "meant", threads=1, passes=passes) == first
    assert read_rebuilt_rows(there) == read_rebuilt_rows(here)
    assert find_faults(there.tables, NEWS) == []
    for kept in (here, there):
        kept.close()


def test_a_backfill_leaves_the_same_rows_as_on_one_machine(
    spark: SparkEngine, tmp_path: Path
) -> None:
    lines = generate_cdx_lines(5, 3_000, 40)
    left, told = [], []
    for engine, home in ((spark, tmp_path / "spark"), (None, tmp_path / "local")):
        home.mkdir()
        path = home / "lines.cdx"
        path.write_text("\n".join([*lines, ""]))
        running = engine or LocalEngine(home / "bulk", 2, 1, 50_000)
        job = captures_job(home, [path], ranges=3, part_bytes=60_000)
        done = build_report(sum_tallies(running.run(job)))
        told.append(done.counts)
        left.append(read_rows(home))
        random.Random(1).shuffle(lines)
    assert told[0] == told[1]
    assert left[0] == left[1]


def test_an_extraction_leaves_the_same_rows_as_on_one_machine(
    spark: SparkEngine, tmp_path: Path
) -> None:
    write_warcs(tmp_path / "crawl")
    left, told = [], []
    for engine, name in ((spark, "spark"), (LocalEngine(tmp_path / "bulk", 2, 2), "local")):
        job = extraction(tmp_path / name, tmp_path / "crawl", tmp_path / name / "out")
        books = sum_manifests(engine.run(job))
        told.append(as_counts(books.total))
        left.append([rows_in(tmp_path / name / "out", result) for result in RESULT_COLUMNS])
    assert told == [OUTCOMES, OUTCOMES]
    assert left[0] == left[1]


def test_what_a_task_raises_is_told(spark: SparkEngine) -> None:
    with pytest.raises(StoreUnavailableError, match="this part is bad"):
        [*spark.run(word_job("bad", 2, (), fail_at=1))]
