"""The forms a result is written in: rows as JSON lines, CSV or Parquet, references as BibTeX or CSL-JSON,
captures as WARC or WACZ."""

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
Row = dict[str, Any]


def _reject_documents(
    stores: Stores, documents: Iterator[IndexDocument], missed: MissingDocuments
) -> Iterator[bytes]:
    """What a form of rows makes of documents."""
    return iter(())


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """`title` for people, `suffix` of a file, `media_type`; and what makes bytes of it, piece by piece:
    of `rows` with these columns where it has any, else of `documents`.
    """

    title: str
    suffix: str
    media_type: str
    rows: Callable[[Iterator[Row], Mapping[str, str]], Iterator[bytes]] | None = None
    documents: Callable[[Stores, Iterator[IndexDocument], MissingDocuments], Iterator[bytes]] = (
        _reject_documents
    )


def export_documents(
    form: ExportFormat,
    stores: Stores,
    documents: Iterator[IndexDocument],
    *,
    with_text: bool,
    missed: MissingDocuments,
) -> Iterator[bytes]:
    """A result in a form, piece by piece; `missed` are the documents that could not be put into it."""
    if form.rows is not None:
        return form.rows(iter_document_rows(stores, documents, with_text=with_text), FIELDS)
    return form.documents(stores, documents, missed)


def iter_json_lines(rows: Iterator[Row], columns: Mapping[str, str]) -> Iterator[bytes]:
    """One JSON object a line, with the names of the columns for keys."""
    return (msgspec.json.encode(row) + b"\n" for row in rows)


def iter_csv_lines(rows: Iterator[Row], columns: Mapping[str, str]) -> Iterator[bytes]:
    """CSV in UTF-8 with a line of names first; an absent value is empty, a list has "; " between its values.

    Source: RFC 4180.
    """
    yield _encode_csv_line(list(columns))
    for row in rows:
        yield _encode_csv_line([_format_csv_value(row[name]) for name in columns])


def _format_csv_value(value: Any) -> Any:
    if isinstance(value, list):
        return LIST_SEPARATOR.join(map(str, value))
    return "" if value is None else value


def _encode_csv_line(values: list[Any]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow(values)
    return line.getvalue().encode("utf-8", "replace")


def iter_parquet(rows: Iterator[Row], columns: Mapping[str, str]) -> Iterator[bytes]:
    """Apache Parquet, zstd, with these columns and their types."""
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
    stores: Stores, documents: Iterator[IndexDocument], missed: MissingDocuments
) -> Iterator[bytes]:
    for one, journal in _iter_with_journals(stores, documents):
        yield f"{format_bibtex(one, journal)}\n".encode("utf-8", "replace")


def _iter_csl_json(
    stores: Stores, documents: Iterator[IndexDocument], missed: MissingDocuments
) -> Iterator[bytes]:
    yield b"["
    for number, (one, journal) in enumerate(_iter_with_journals(stores, documents)):
        yield (b",\n" if number else b"\n") + msgspec.json.encode(build_csl(one, journal))
    yield b"\n]\n"


def _iter_with_journals(
    stores: Stores, documents: Iterator[IndexDocument]
) -> Iterator[tuple[IndexDocument, Journal | None]]:
    while chunk := list(islice(documents, CHUNK)):
        found = find_journals(stores.records, [one.sha1hex for one in chunk])
        yield from ((one, found.get(one.sha1hex)) for one in chunk)


FORMS: Mapping[str, ExportFormat] = MappingProxyType(
    {
        "jsonl": ExportFormat("JSON lines", "jsonl", "application/jsonl", rows=iter_json_lines),
        "csv": ExportFormat("CSV", "csv", "text/csv; charset=utf-8", rows=iter_csv_lines),
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
