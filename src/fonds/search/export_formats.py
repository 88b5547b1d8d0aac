"""Formats for exporting search results.

Rows are written as JSON lines, CSV or Parquet; references as BibTeX or CSL-JSON; and captures as
WARC or WACZ.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Any

import msgspec

from fonds.model.bibliography import Journal
from fonds.model.document import IndexDocument
from fonds.model.parquet import build_arrow_schema, convert_rows
from fonds.papers.bibliography.bibtex_csl import build_csl, format_bibtex
from fonds.papers.journal_names import find_journals
from fonds.ports import Stores
from fonds.search.export_rows import FIELDS, iter_document_rows
from fonds.search.export_warcs import DrainableStream, MissingDocuments, export_wacz, export_warc

CHUNK = 500
PARQUET_CHUNK = 200
LIST_SEPARATOR = "; "
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Starts of texts that spreadsheets run as formulas. Some skip white space, and read the wide forms
of the signs too.
"""
Row = dict[str, Any]


def _reject_documents(
    stores: Stores, documents: Iterator[IndexDocument], missing_documents: MissingDocuments
) -> Iterator[bytes]:
    """Yield nothing. Placeholder for the function `documents` of export formats that consist of
    rows.
    """
    return iter(())


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """File format of an exported search result.

    - `title`: name for people.
    - `suffix`: file extension without dot.
    - `media_type`: MIME type.
    - `rows`: function that encodes table rows with the given columns, piece by piece; None for a
      format that does not consist of rows, such as WARC.
    - `documents`: function that encodes the documents found, piece by piece; used only if `rows` is
      None.
    """

    title: str
    suffix: str
    media_type: str
    rows: Callable[[Iterator[Row], Mapping[str, str]], Iterator[bytes]] | None = None
    documents: Callable[[Stores, Iterator[IndexDocument], MissingDocuments], Iterator[bytes]] = (
        _reject_documents
    )


def export_documents(
    export_format: ExportFormat,
    stores: Stores,
    documents: Iterator[IndexDocument],
    *,
    with_text: bool,
    missing_documents: MissingDocuments,
) -> Iterator[bytes]:
    """Yield the documents of a search result in an export format, as pieces of the file.

    Documents that cannot be exported are added to `missing_documents`. `with_text` includes the
    full texts in formats that consist of rows.
    """
    if export_format.rows is not None:
        return export_format.rows(
            iter_document_rows(stores, documents, with_text=with_text), FIELDS
        )
    return export_format.documents(stores, documents, missing_documents)


def iter_json_lines(rows: Iterator[Row], columns: Mapping[str, str]) -> Iterator[bytes]:
    """Yield exported rows as JSON objects, one per line, with the column names as keys.

    `columns` is ignored; it is a parameter because every export format has it.
    """
    return (msgspec.json.encode(row) + b"\n" for row in rows)


def iter_csv_lines(rows: Iterator[Row], columns: Mapping[str, str]) -> Iterator[bytes]:
    """Yield exported rows as lines of CSV in UTF-8, after a header line. Texts are safe to open in
    a spreadsheet: one that it would run as a formula begins with an apostrophe.

    An absent value is empty. The values of a list are joined by "; ". Source: RFC 4180.
    """
    yield _encode_csv_line(list(columns))
    for row in rows:
        values = (_format_csv_value(row[name]) for name in columns)
        yield _encode_csv_line([_escape_formula(value) for value in values])


def iter_raw_csv_lines(rows: Iterator[Row], columns: Mapping[str, str]) -> Iterator[bytes]:
    """Yield exported rows as lines of CSV as `iter_csv_lines` does, but with all texts as they are.

    A spreadsheet runs a text that begins with `=` as a formula, for example a title from a page.
    """
    yield _encode_csv_line(list(columns))
    for row in rows:
        yield _encode_csv_line([_format_csv_value(row[name]) for name in columns])


def _escape_formula(value: Any) -> Any:
    is_formula = isinstance(value, str) and value.startswith(_FORMULA_STARTS)
    return f"'{value}" if is_formula else value


def _format_csv_value(value: Any) -> Any:
    if isinstance(value, list):
        return LIST_SEPARATOR.join(map(str, value))
    return "" if value is None else value


def _encode_csv_line(values: list[Any]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow(values)
    return line.getvalue().encode("utf-8", "replace")


def iter_parquet(rows: Iterator[Row], columns: Mapping[str, str]) -> Iterator[bytes]:
    """Yield exported rows as an Apache Parquet file with zstd compression, piece by piece.

    `columns` gives the type of each column by name.
    """
    import pyarrow
    from pyarrow import parquet as library

    schema, sink = build_arrow_schema(columns), DrainableStream()
    with library.ParquetWriter(sink, schema, compression="zstd") as writer:
        while chunk := list(islice(rows, PARQUET_CHUNK)):
            writer.write_table(
                pyarrow.Table.from_pylist(convert_rows(chunk, columns), schema=schema)
            )
            yield sink.drain()
    yield sink.drain()


def _iter_bibtex(
    stores: Stores, documents: Iterator[IndexDocument], missing_documents: MissingDocuments
) -> Iterator[bytes]:
    for document, journal in _iter_with_journals(stores, documents):
        yield f"{format_bibtex(document, journal)}\n".encode("utf-8", "replace")


def _iter_csl_json(
    stores: Stores, documents: Iterator[IndexDocument], missing_documents: MissingDocuments
) -> Iterator[bytes]:
    yield b"["
    for number, (document, journal) in enumerate(_iter_with_journals(stores, documents)):
        yield (b",\n" if number else b"\n") + msgspec.json.encode(build_csl(document, journal))
    yield b"\n]\n"


def _iter_with_journals(
    stores: Stores, documents: Iterator[IndexDocument]
) -> Iterator[tuple[IndexDocument, Journal | None]]:
    while chunk := list(islice(documents, CHUNK)):
        journals = find_journals(stores.records, [document.sha1hex for document in chunk])
        yield from ((document, journals.get(document.sha1hex)) for document in chunk)


EXPORT_FORMATS: Mapping[str, ExportFormat] = MappingProxyType(
    {
        "jsonl": ExportFormat("JSON lines", "jsonl", "application/jsonl", rows=iter_json_lines),
        "csv": ExportFormat("CSV", "csv", "text/csv; charset=utf-8", rows=iter_csv_lines),
        "csv-raw": ExportFormat(
            "CSV, formulas not disarmed", "csv", "text/csv; charset=utf-8", rows=iter_raw_csv_lines
        ),
        "parquet": ExportFormat(
            "Parquet", "parquet", "application/vnd.apache.parquet", rows=iter_parquet
        ),
        "bibtex": ExportFormat(
            "BibTeX", "bib", "application/x-bibtex; charset=utf-8", documents=_iter_bibtex
        ),
        "csl": ExportFormat(
            "CSL-JSON", "json", "application/vnd.citationstyles.csl+json", documents=_iter_csl_json
        ),
        "warc": ExportFormat("WARC", "warc.gz", "application/warc", documents=export_warc),
        "wacz": ExportFormat("WACZ", "wacz", "application/wacz", documents=export_wacz),
    }
)
