"""The schema of the journal table, and the declaration of further families."""

from __future__ import annotations

import pytest

from fonds.model.errors import ConfigurationError
from fonds.stores.journal_table.schema import (
    JOURNAL,
    CellType,
    build_create_statement,
    build_journal_schema,
)


def test_the_schema_matches_the_seed_document() -> None:
    assert JOURNAL.names == ("f", "file", "grobid0", "bib0", "match0")
    assert JOURNAL.compressions == {"grobid0": "SNAPPY", "bib0": "SNAPPY"}
    integers = [name for name, column in JOURNAL.columns.items() if column.type is CellType.INTEGER]
    assert integers == ["file:size", "grobid0:status_code"]
    names = [name.partition(":")[2] for name in JOURNAL.columns]
    assert sorted(set(names)) == sorted(names)


def test_further_families_are_declared_as_text() -> None:
    schema = build_journal_schema(
        "pdf0=pdf_status,pdf_certainty:json grobid1+SNAPPY=status1:json,tei1:xml"
    )
    assert schema.names == (*JOURNAL.names, "pdf0", "grobid1")
    assert schema.compressions == {"grobid0": "SNAPPY", "bib0": "SNAPPY", "grobid1": "SNAPPY"}
    assert schema.get_column("pdf0:pdf_certainty").type is CellType.JSON
    assert schema.get_column("grobid1:tei1").is_large


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ("match1=status", "'status' is in the families 'grobid0' and 'match1'"),
        ("f=x", "'f' is declared twice"),
        ("pdf0=a,a", "'a' twice"),
        ("pdf0", "is not a family"),
        ("pdf0=a:number", "Did you mean"),
        ("pdf0=", "is not a family"),
        ("pdf0=a,,b", "is not a column"),
        ("pdf 0=a", "is not a family"),
        (" ".join(f"x{n}=c{n}" for n in range(20)), "at most 16 families"),
    ],
)
def test_invalid_families_are_refused_with_a_message(declaration: str, message: str) -> None:
    if "number" in declaration:
        message = "no type named 'number'"
    with pytest.raises(ConfigurationError, match=message):
        build_journal_schema(declaration)


def test_an_unknown_column_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'file:mime'"):
        JOURNAL.get_column("file:mim")


def test_the_create_statement_has_versions_compression_and_splits() -> None:
    families = {family.name: family.compression for family in JOURNAL.families}
    create_statement = build_create_statement("g-journal-extract-0-qa", families, 4, {"f"})
    options = "VERSIONS => 1, BLOOMFILTER => 'ROW', BLOCKCACHE => true"
    start = f"create 'g-journal-extract-0-qa', {{NAME => 'f', {options}, IN_MEMORY => true}}, "
    assert create_statement.startswith(start)
    assert f"{{NAME => 'grobid0', {options}, COMPRESSION => 'SNAPPY'}}" in create_statement
    assert create_statement.endswith(r'SPLITS => ["\x40\x00", "\x80\x00", "\xC0\x00"]')
    assert "SPLITS" not in build_create_statement("t", families, 1)
    with pytest.raises(ConfigurationError):
        build_create_statement("a'b", families, 1)
