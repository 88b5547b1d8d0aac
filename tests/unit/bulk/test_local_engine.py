"""The engine of this machine: the order of records, ranges, going on, and ending."""

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


def expected(parts: int, ranges: tuple[bytes, ...]) -> list[bytes]:
    """What sorting in memory gives."""
    every = sorted(one for part in range(parts) for one in NumberWords()(part))
    return [
        b"%d:" % number + b",".join(one for one in every if find_range(ranges, one) == number)
        for number in range(len(ranges) + 1)
    ]


@pytest.mark.parametrize("memory_bytes", [200, 10**6])
def test_records_come_to_the_writer_of_their_range_in_order(
    tmp_path: Path, memory_bytes: int
) -> None:
    engine = LocalEngine(tmp_path, 1, 1, memory_bytes)
    assert [*engine.run(word_job("a", 5, RANGES))] == expected(5, RANGES)
    assert [*tmp_path.iterdir()] == []


def test_several_processes_leave_what_one_leaves(tmp_path: Path) -> None:
    engine = LocalEngine(tmp_path, 2, 2, 500)
    assert [*engine.run(word_job("a", 5, RANGES))] == expected(5, RANGES)


def test_what_another_process_raises_is_raised_here(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="this part is bad"):
        [*LocalEngine(tmp_path, 2, 2, 500).run(word_job("a", 5, RANGES, fail_at=4))]


def test_what_a_part_raises_is_raised_and_the_rest_is_not_done_again(tmp_path: Path) -> None:
    engine = LocalEngine(tmp_path, 1, 1, 500)
    with pytest.raises(ValueError, match="this part is bad"):
        [*engine.run(word_job("a", 5, RANGES, fail_at=4))]
    assert (tmp_path / "a" / "part-0.json").exists()
    before = (tmp_path / "a" / "part-0.json").stat().st_mtime_ns
    results = engine.run(word_job("a", 5, RANGES))
    first = next(results)
    assert (tmp_path / "a" / "part-0.json").stat().st_mtime_ns == before
    assert [first, *results] == expected(5, RANGES)


def test_a_job_killed_while_its_folder_is_removed_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = LocalEngine(tmp_path, 1, 1, 500)
    whole, removing = word_job("a", 5, RANGES), engine_module.shutil.rmtree

    def killed(folder: Path, **_: object) -> None:
        if folder.exists():
            for one in (*folder.glob("*.run"), *folder.glob("range-[13].results")):
                one.unlink()
            raise KeyboardInterrupt

    monkeypatch.setattr(engine_module.shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        [*engine.run(whole)]
    monkeypatch.setattr(engine_module.shutil, "rmtree", removing)
    assert [*engine.run(whole)] == expected(5, RANGES)
    assert [*tmp_path.iterdir()] == []


def test_a_job_without_parts_still_has_its_ranges(tmp_path: Path) -> None:
    job = Job("none", (), NumberWords(), RANGES, join_records)
    assert [*LocalEngine(tmp_path, 2, 1).run(job)] == [b"0:", b"1:", b"2:", b"3:"]


def test_a_record_with_a_line_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="line end"):
        write_runs([b"a", b"b\nc"], tmp_path, "run", (), 1000)


@settings(
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(
    records=st.lists(st.binary(max_size=6).map(lambda one: one.replace(b"\n", b"")), max_size=60),
    ranges=st.lists(st.binary(min_size=1, max_size=2), max_size=4).map(
        lambda keys: tuple(sorted(set(keys)))
    ),
    memory_bytes=st.integers(1, 2000),
    ways=st.integers(2, 4),
)
def test_sorting_on_disk_is_sorting(
    tmp_path: Path, records: list[bytes], ranges: tuple[bytes, ...], memory_bytes: int, ways: int
) -> None:
    runs = write_runs(records, tmp_path, "run", ranges, memory_bytes)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sort_runs, "MERGE_WAYS_MAX", ways)
        for number in range(len(ranges) + 1):
            stretches = [
                RunRange(tmp_path / one.name, one.offsets[number], one.offsets[number + 1])
                for one in runs
            ]
            some = [*merge_runs(stretches, tmp_path, f"m{number}")]
            assert all(find_range(ranges, one) == number for one in some)
            found += some
    assert found == sorted(records)


def test_a_record_equal_to_the_first_key_of_a_range_is_in_that_range(tmp_path: Path) -> None:
    """Both engines divide records in the same way: this machine while it sorts, Spark record by record."""
    ranges, records = (b"b", b"d"), [b"a", b"b", b"c", b"d", b"e"]
    assert [find_range(ranges, one) for one in records] == [0, 1, 1, 2, 2]
    (only,) = write_runs(records, tmp_path, "run", ranges, 10_000)
    assert only.offsets == (0, 2, 6, 10)


def test_each_run_uses_the_whole_memory(tmp_path: Path) -> None:
    record_bytes = 10 + sort_runs.RECORD_OVERHEAD_BYTES
    records = [b"%010d" % number for number in range(95)]
    runs = write_runs(reversed(records), tmp_path, "a", (), 10 * record_bytes)
    sizes = [(tmp_path / run.name).read_bytes().count(b"\n") for run in runs]
    assert sizes == [10] * 9 + [5]
