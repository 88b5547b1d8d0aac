"""Statistics of a table, independent of the engine."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec

from bulk_jobs import JOURNAL, open_table
from fonds.bulk.local import LocalEngine
from fonds.failures.accounting import table_counts
from fonds.failures.accounting.table_counts import build_counting_job
from fonds.stores.journal_table.cells import encode_integer
from fonds.stores.journal_table.keys import build_alternate_key, build_row_key
from fonds.stores.journal_table.schema import JOURNAL as SCHEMA
from fonds.stores.table.sqlite import SqliteTable


def count_table(home: Path, *, large: bool = False) -> dict[tuple[str, str], int]:
    opens = partial(SqliteTable, home / "table.sqlite")
    job = build_counting_job(opens, JOURNAL, SCHEMA, large=large, fingerprint="test")
    results = LocalEngine(home / "bulk", 1, 1).run(job)
    return {(kind, value): count for kind, value, count in map(msgspec.json.decode, results)}


def fill_table(home: Path) -> None:
    table = open_table(home)
    rows = []
    for number in range(300):
        sha1hex = number.to_bytes(2, "big").hex().ljust(40, "5")
        mime = b"application/pdf" if number % 3 else b"text/html"
        cells = {"file:mime": mime, "f:c": b"{}", "file:cdx": b"{}"}
        if number < 100:
            cells |= {"grobid0:status_code": encode_integer(200 if number % 2 else 500)}
            cells |= {"grobid0:tei_xml": b"<TEI/>"}
        rows.append((build_row_key(sha1hex), cells))
        rows += [
            (build_alternate_key(sha1hex, f"c{n}"), {"file:cdx": b"{}"}) for n in range(number % 4)
        ]
    rows.append((b"nokey", {"file:mime": b"x/y"}))
    table.put(JOURNAL, rows)
    table.close()


def test_rows_files_and_values_of_a_table_are_counted(tmp_path: Path) -> None:
    fill_table(tmp_path)
    counts = count_table(tmp_path)
    assert counts["rows", ""] == 300 + 75 * 6 + 1
    assert counts["files", ""] == 301
    assert (counts["mime", "application/pdf"], counts["mime", "text/html"]) == (200, 100)
    assert (counts["status_code", "200"], counts["status_code", "500"]) == (50, 50)
    assert counts["missing", "grobid0:status_code"] == 201
    assert counts["missing", "file:size"] == 301
    per_file = {
        value: count for (kind, value), count in counts.items() if kind == table_counts.PER_FILE
    }
    assert per_file == {"1": 76, "2": 75, "3 to 5": 150}
    assert ("missing", "grobid0:tei_xml") not in counts


def test_large_columns_are_counted_only_on_request(tmp_path: Path) -> None:
    fill_table(tmp_path)
    assert count_table(tmp_path, large=True)["missing", "grobid0:tei_xml"] == 201


def test_the_number_of_distinct_values_is_limited(tmp_path: Path) -> None:
    table = open_table(tmp_path)
    table.put(
        JOURNAL,
        [(bytes([7]) + n.to_bytes(19, "big"), {"file:mime": b"x/%d" % n}) for n in range(3000)],
    )
    table.close()
    counts = count_table(tmp_path)
    assert counts["mime", table_counts.OTHER_LABEL] > 1900
    assert len(counts) <= table_counts.VALUES_MAX + 10
