"""Bulk jobs on a real Spark cluster give the same results as local processes."""

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
    """The cluster; its executors import the jobs of the tests."""
    options = {
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[1]),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    return SparkEngine(f"{url_of('TEST_SPARK_URL')}?{urlencode(options)}")


def test_spark_sorts_and_divides_records_like_the_local_engine(
    spark: SparkEngine, tmp_path: Path
) -> None:
    ranges = (b"00250", b"00500 2", b"00900")
    local = [*LocalEngine(tmp_path, 1, 1, 500).run(word_job("words", 6, ranges))]
    assert [*spark.run(word_job("words", 6, ranges))] == local


def test_a_rebuild_on_spark_writes_the_rows_of_a_local_one(
    spark: SparkEngine, tmp_path: Path
) -> None:
    local, remote = fill_collection(tmp_path / "local"), fill_collection(tmp_path / "remote")
    first = rebuild(local.writer, NEWS, "deep", threads=1)
    passes = build_engine_passes(spark, tmp_path / "remote")
    assert rebuild(remote.writer, NEWS, "deep", threads=1, passes=passes) == first
    assert read_rebuilt_rows(remote) == read_rebuilt_rows(local)
    for store in (local, remote):
        store.close()


def test_rebuilds_on_hbase_write_the_rows_of_local_ones(spark: SparkEngine, tmp_path: Path) -> None:
    remote_url, prefix = url_of("TEST_HBASE_URL"), f"t{os.urandom(5).hex()}_"
    opens = partial(open_hbase_collections, remote_url, prefix)
    local, remote = (
        fill_collection(tmp_path / "local"),
        fill_collection(tmp_path / "remote", tables=opens()),
    )
    passes = build_engine_passes(spark, tmp_path / "remote", opens)
    later_documents = [
        replace(document, id=f"more-{document.id}") for document in themed_documents(60, seed=2)
    ]
    theme = ""
    for conf in ("deep", "deep", "dense"):
        first = rebuild(local.writer, NEWS, conf, threads=1)
        assert rebuild(remote.writer, NEWS, conf, threads=1, passes=passes) == first
        assert read_rebuilt_rows(remote) == read_rebuilt_rows(local)
        for store in (local, remote):
            store.writer.put(NEWS, later_documents)
        if not theme:
            theme = (
                next(
                    placement.cluster_id
                    for placement in list_placements(local.tables, NEWS, "d0")
                    if placement.label
                )
                or ""
            )
            for store in (local, remote):
                exclude(store.writer, NEWS, conf, theme, ["d0"])
    assert theme not in {
        placement.cluster_id for placement in list_placements(remote.tables, NEWS, "d0")
    }
    served = [load_clusters(store.tables, NEWS, "deep") for store in (local, remote)]
    assert served[0] == served[1] is not None
    assert find_faults(remote.tables, NEWS) == []
    assert read_rebuilt_rows(remote)[READINGS] == []
    for store in (local, remote):
        store.close()


def test_executors_encode_texts_like_a_local_process(spark: SparkEngine, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the extra `dense` is not installed")
    local, remote = fill_collection(tmp_path / "local"), fill_collection(tmp_path / "remote")
    for store in (local, remote):
        save_configuration(
            store.tables, "news", "meant", build_configuration({"clusters": 5, "encoder": "minilm"})
        )
    first = rebuild(local.writer, NEWS, "meant", threads=1)
    passes = build_engine_passes(spark, tmp_path / "remote")
    assert rebuild(remote.writer, NEWS, "meant", threads=1, passes=passes) == first
    assert read_rebuilt_rows(remote) == read_rebuilt_rows(local)
    assert find_faults(remote.tables, NEWS) == []
    for store in (local, remote):
        store.close()


def test_a_backfill_on_spark_writes_the_rows_of_a_local_one(
    spark: SparkEngine, tmp_path: Path
) -> None:
    lines = generate_cdx_lines(5, 3_000, 40)
    rows, counts = [], []
    for engine, home in ((spark, tmp_path / "spark"), (None, tmp_path / "local")):
        home.mkdir()
        path = home / "lines.cdx"
        path.write_text("\n".join([*lines, ""]))
        chosen_engine = engine or LocalEngine(home / "bulk", 2, 1, 50_000)
        job = captures_job(home, [path], ranges=3, part_bytes=60_000)
        done = build_report(sum_tallies(chosen_engine.run(job)))
        counts.append(done.counts)
        rows.append(read_rows(home))
        random.Random(1).shuffle(lines)
    assert counts[0] == counts[1]
    assert rows[0] == rows[1]


def test_an_extraction_on_spark_writes_the_rows_of_a_local_one(
    spark: SparkEngine, tmp_path: Path
) -> None:
    write_warcs(tmp_path / "crawl")
    rows, counts = [], []
    for engine, name in ((spark, "spark"), (LocalEngine(tmp_path / "bulk", 2, 2), "local")):
        job = extraction(tmp_path / name, tmp_path / "crawl", tmp_path / name / "out")
        manifest = sum_manifests(engine.run(job))
        counts.append(as_counts(manifest.total))
        rows.append([rows_in(tmp_path / name / "out", result) for result in RESULT_COLUMNS])
    assert counts == [OUTCOMES, OUTCOMES]
    assert rows[0] == rows[1]


def test_the_error_of_a_task_is_reported(spark: SparkEngine) -> None:
    with pytest.raises(StoreUnavailableError, match="this part is bad"):
        [*spark.run(word_job("bad", 2, (), fail_at=1))]
