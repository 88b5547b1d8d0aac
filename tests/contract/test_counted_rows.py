"""Contract of the port Records, for every database: stored row counts follow every kind of write."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from depth import examples
from fonds.model.row_change import RowChange
from fonds.model.rows import FileMetaRow, FixityRow, TallyRow, TextSketchRow
from fonds.stores.records.sql import SqlRecords

TYPES = ("text/html", "application/pdf", "text/\x00html", "audio/mpeg")
KEYS = [f"{number:040x}" for number in range(6)]


NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)


def build_row(key: str, mimetype: str) -> FileMetaRow:
    return FileMetaRow(key, (key * 2)[:64], key[:32], 1, mimetype, "capture", NOON)


def count_types(records: SqlRecords) -> dict[str, int]:
    rows = records.find(TallyRow, {"counted": FileMetaRow.TABLE})
    return {row.first: row.count for row in rows if row.count}


rows = st.lists(
    st.builds(build_row, st.sampled_from(KEYS), st.sampled_from(TYPES)), min_size=1, max_size=8
)
writes = st.one_of(
    st.tuples(st.just("replace"), rows),
    st.tuples(st.just("keep"), rows),
    st.tuples(st.just("delete"), st.lists(st.sampled_from(KEYS), max_size=4)),
    st.tuples(
        st.just("delete if"), st.tuples(st.sampled_from(KEYS), st.sampled_from(TYPES[:2]))
    ),
)  # fmt: skip


@settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(sequence=st.lists(writes, max_size=6))
def test_counts_agree_with_the_rows_after_every_write(
    records: SqlRecords, sequence: list[tuple[str, object]]
) -> None:
    records.delete(FileMetaRow, KEYS)
    expected: dict[str, str] = {}
    for name, argument in sequence:
        if name in ("replace", "keep"):
            assert isinstance(argument, list)
            records.put(argument, replace=name == "replace")
            for row in argument:
                if name == "replace" or row.sha1hex not in expected:
                    expected[row.sha1hex] = row.mimetype.replace("\x00", "")
        elif name == "delete":
            assert isinstance(argument, list)
            records.delete(FileMetaRow, argument)
            expected = {key: value for key, value in expected.items() if key not in argument}
        else:
            assert isinstance(argument, tuple)
            key, mimetype = argument
            change = RowChange(key, None, {"mimetype": mimetype})
            is_applied = records.change_each(FileMetaRow, [change])
            assert is_applied == [expected.get(key) == mimetype]
            if is_applied == [True]:
                del expected[key]
        counts = count_types(records)
        values = list(expected.values())
        assert counts == {value: values.count(value) for value in values}
        assert records.ledger.recount() == []


def test_writers_of_counted_and_other_rows_never_wait_for_each_other(records: SqlRecords) -> None:
    """Rows of `fixity` are not counted, and are written after those of `file_meta` and before
    those of `text_sketch`. A writer that locked them before the counts would wait for a writer that
    holds the counts, and the other way round."""
    fixities = [FixityRow(key, "row", 1, "d" * 64) for key in KEYS]
    files = [build_row(key, "text/html") for key in KEYS]
    sketches = [
        TextSketchRow(key, "b" * 64, "2024", NOON, "success", "http://a/", "c" * 64, "00", "m/1")
        for key in KEYS
    ]

    def work(number: int) -> None:
        for _ in range(20):
            records.put([*files, *fixities] if number % 2 else [*fixities, *sketches])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4), timeout=120))
    assert count_types(records) == {"text/html": len(KEYS)}
    assert records.ledger.recount() == []
