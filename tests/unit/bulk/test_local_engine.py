"""The local engine: order of records, ranges, resuming, and cleaning up."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bulk_jobs import NumberWords, join_records, word_job
from depth import examples
from fonds.bulk import local as engine_module
from fonds.bulk import sort_runs
from fonds.bulk.local import LocalEngine
from fonds.bulk.sort_runs import RunRange, find_range, merge_runs, write_runs
from fonds.ports import Job

RANGES = (b"00250", b"00500 2", b"00900")


def sort_in_memory(parts: int, ranges: tuple[bytes, ...]) -> list[bytes]:
    """Return the results of sorting in memory."""
    all_records = sorted(record for part in range(parts) for record in NumberWords()(part))
    return [
        b"%d:" % number
        + b",".join(record for record in all_records if find_range(ranges, record) == number)
        for number in range(len(ranges) + 1)
    ]


@pytest.mark.parametrize("memory_bytes", [200, 10**6])
def test_records_reach_the_writer_of_their_range_in_order(
    tmp_path: Path, memory_bytes: int
) -> None:
    engine = LocalEngine(tmp_path, 1, 1, memory_bytes)
    assert [*engine.run(word_job("a", 5, RANGES))] == sort_in_memory(5, RANGES)
    assert [*tmp_path.iterdir()] == []


def test_several_processes_have_the_results_of_one(tmp_path: Path) -> None:
    engine = LocalEngine(tmp_path, 2, 2, 500)
    assert [*engine.run(word_job("a", 5, RANGES))] == sort_in_memory(5, RANGES)


def test_an_exception_in_another_process_is_raised(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="this part is bad"):
        [*LocalEngine(tmp_path, 2, 2, 500).run(word_job("a", 5, RANGES, fail_at=4))]


def test_after_an_exception_finished_parts_are_not_repeated(tmp_path: Path) -> None:
    engine = LocalEngine(tmp_path, 1, 1, 500)
    with pytest.raises(ValueError, match="this part is bad"):
        [*engine.run(word_job("a", 5, RANGES, fail_at=4))]
    assert (tmp_path / "a" / "part-0.json").exists()
    modified_ns = (tmp_path / "a" / "part-0.json").stat().st_mtime_ns
    results = engine.run(word_job("a", 5, RANGES))
    first = next(results)
    assert (tmp_path / "a" / "part-0.json").stat().st_mtime_ns == modified_ns
    assert [first, *results] == sort_in_memory(5, RANGES)


def test_a_job_killed_during_cleanup_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = LocalEngine(tmp_path, 1, 1, 500)
    job, removing = word_job("a", 5, RANGES), engine_module.shutil.rmtree

    def remove_partly(folder: Path, **_: object) -> None:
        if folder.exists():
            for file in (*folder.glob("*.run"), *folder.glob("range-[13].results")):
                file.unlink()
            raise KeyboardInterrupt

    monkeypatch.setattr(engine_module.shutil, "rmtree", remove_partly)
    with pytest.raises(KeyboardInterrupt):
        [*engine.run(job)]
    monkeypatch.setattr(engine_module.shutil, "rmtree", removing)
    assert [*engine.run(job)] == sort_in_memory(5, RANGES)
    assert [*tmp_path.iterdir()] == []


def test_a_job_without_parts_has_results_for_its_ranges(tmp_path: Path) -> None:
    job = Job("none", (), NumberWords(), RANGES, join_records)
    assert [*LocalEngine(tmp_path, 2, 1).run(job)] == [b"0:", b"1:", b"2:", b"3:"]


def test_a_record_with_a_line_end_raises(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="line end"):
        write_runs([b"a", b"b\nc"], tmp_path, "run", (), 1000)


@settings(
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(
    records=st.lists(
        st.binary(max_size=6).map(lambda record: record.replace(b"\n", b"")), max_size=60
    ),
    ranges=st.lists(st.binary(min_size=1, max_size=2), max_size=4).map(
        lambda keys: tuple(sorted(set(keys)))
    ),
    memory_bytes=st.integers(1, 2000),
    ways=st.integers(2, 4),
)
def test_sorting_on_disk_equals_sorting_in_memory(
    tmp_path: Path, records: list[bytes], ranges: tuple[bytes, ...], memory_bytes: int, ways: int
) -> None:
    runs = write_runs(records, tmp_path, "run", ranges, memory_bytes)
    merged = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sort_runs, "MERGE_WAYS_MAX", ways)
        for number in range(len(ranges) + 1):
            run_ranges = [
                RunRange(tmp_path / run.name, run.offsets[number], run.offsets[number + 1])
                for run in runs
            ]
            records_of_range = [*merge_runs(run_ranges, tmp_path, f"m{number}")]
            assert all(find_range(ranges, one) == number for one in records_of_range)
            merged += records_of_range
    assert merged == sorted(records)


def test_a_record_equal_to_a_range_key_is_in_that_range(tmp_path: Path) -> None:
    """Both engines divide records the same way: the local engine while it sorts, Spark record by
    record."""
    ranges, records = (b"b", b"d"), [b"a", b"b", b"c", b"d", b"e"]
    assert [find_range(ranges, record) for record in records] == [0, 1, 1, 2, 2]
    (run,) = write_runs(records, tmp_path, "run", ranges, 10_000)
    assert run.offsets == (0, 2, 6, 10)
