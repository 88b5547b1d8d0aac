"""A checksum depends on the row key, and on each column and value of the row."""

from __future__ import annotations

from fonds.model.checksums import format_checksum, hash_cells, parse_checksum

CELLS = {"main:a": b"1", "main:b": b"2"}


def test_each_part_of_a_row_changes_the_hash() -> None:
    rows = [
        (b"key", CELLS),
        (b"other", CELLS),
        (b"key", {"main:a": b"2", "main:b": b"1"}),
        (b"key", {"main:a": b"1"}),
        (b"key", {"main:a": b"1", "main:c": b"2"}),
        (b"key", {}),
    ]
    assert len({hash_cells(key, cells) for key, cells in rows}) == len(rows)


def test_the_order_of_the_cells_does_not_matter() -> None:
    assert hash_cells(b"key", dict(reversed(CELLS.items()))) == hash_cells(b"key", CELLS)


def test_a_cell_holds_a_sum_of_hashes() -> None:
    total = hash_cells(b"key", CELLS) + hash_cells(b"other", CELLS)
    cell = format_checksum(total)
    assert len(cell) == 16
    assert parse_checksum(cell) == total % 2**64
    assert format_checksum(total - hash_cells(b"other", CELLS)) == format_checksum(
        hash_cells(b"key", CELLS)
    )


def test_a_cell_without_a_number_is_zero() -> None:
    assert [parse_checksum(cell) for cell in (None, b"", b"x")] == [0, 0, 0]
