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

from fonds.bibliography.paper import Journal
from fonds.formats.parquet import schema_of, typed_rows
from fonds.kinds.papers.journals import journals
from fonds.library.searching.exported.drained import Drained
from fonds.library.searching.exported.references import bibtex, csl
from fonds.library.searching.exported.rows import FIELDS, rows_of
from fonds.library.searching.exported.warcs import Missed, wacz, warc
from fonds.model.document import IndexDocument
from fonds.ports import Stores

CHUNK = 500
PARQUET_CHUNK = 200
LIST_SEPARATOR = "; "
Row = dict[str, Any]


def _nothing(stores: Stores, documents: Iterator[IndexDocument], missed: Missed) -> Iterator[bytes]:
    """What a form of rows makes of documents."""
    return iter(())


@dataclass(frozen=True, slots=True)
class Form:
    """`title` for people, `suffix` of a file, `media_type`; and what makes bytes of it, piece by piece:
    of `rows` with these columns where it has any, else of `documents`.
    """

    title: str
    suffix: str
    media_type: str
    rows: Callable[[Iterator[Row], Mapping[str, str]], Iterator[bytes]] | None = None
    documents: Callable[[Stores, Iterator[IndexDocument], Missed], Iterator[bytes]] = _nothing


def written(
    form: Form,
    stores: Stores,
    documents: Iterator[IndexDocument],
    *,
    with_text: bool,
    missed: Missed,
) -> Iterator[bytes]:
    """A result in a form, piece by piece; `missed` are the documents that could not be put into it."""
    if form.rows is not None:
        return form.rows(rows_of(stores, documents, with_text=with_text), FIELDS)
    return form.documents(stores, documents, missed)


def json_lines(rows: Iterator[Row], columns: Mapping[str, str]) -> Iterator[bytes]:
    """One JSON object a line, with the names of the columns for keys."""
    return (msgspec.json.encode(row) + b"\n" for row in rows)


def comma_separated(rows: Iterator[Row], columns: Mapping[str, str]) -> Iterator[bytes]:
    """CSV in UTF-8 with a line of names first; an absent value is empty, a list has "; " between its values.

    Source: RFC 4180.
    """
    yield _csv_line(list(columns))
    for row in rows:
        yield _csv_line([_csv_value(row[name]) for name in columns])


def _csv_value(value: Any) -> Any:
    if isinstance(value, list):
        return LIST_SEPARATOR.join(map(str, value))
    return "" if value is None else value


def _csv_line(values: list[Any]) -> bytes:
    line = io.StringIO()
    csv.writer(line).writerow(values)
    return line.getvalue().encode("utf-8", "replace")


def parquet(rows: Iterator[Row], columns: Mapping[str, str]) -> Iterator[bytes]:
    """Apache Parquet, zstd, with these columns and their types."""
    import pyarrow
    from pyarrow import parquet as library

    schema, sink = schema_of(columns), Drained()
    with library.ParquetWriter(sink, schema, compression="zstd") as writer:
        while chunk := list(islice(rows, PARQUET_CHUNK)):
            writer.write_table(pyarrow.Table.from_pylist(typed_rows(chunk, columns), schema=schema))
            yield sink.taken()
    yield sink.taken()


def _bibtex(stores: Stores, documents: Iterator[IndexDocument], missed: Missed) -> Iterator[bytes]:
    for one, journal in _with_journals(stores, documents):
        yield f"{bibtex(one, journal)}\n".encode("utf-8", "replace")


def _csl_json(
    stores: Stores, documents: Iterator[IndexDocument], missed: Missed
) -> Iterator[bytes]:
    yield b"["
    for number, (one, journal) in enumerate(_with_journals(stores, documents)):
        yield (b",\n" if number else b"\n") + msgspec.json.encode(csl(one, journal))
    yield b"\n]\n"


def _with_journals(
    stores: Stores, documents: Iterator[IndexDocument]
) -> Iterator[tuple[IndexDocument, Journal | None]]:
    while chunk := list(islice(documents, CHUNK)):
        found = journals(stores.records, [one.sha1hex for one in chunk])
        yield from ((one, found.get(one.sha1hex)) for one in chunk)


FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "jsonl": Form("JSON lines", "jsonl", "application/jsonl", rows=json_lines),
        "csv": Form("CSV", "csv", "text/csv; charset=utf-8", rows=comma_separated),
        "parquet": Form("Parquet", "parquet", "application/vnd.apache.parquet", rows=parquet),
        "bibtex": Form("BibTeX", "bib", "application/x-bibtex; charset=utf-8", documents=_bibtex),
        "csl": Form(
            "CSL-JSON", "json", "application/vnd.citationstyles.csl+json", documents=_csl_json
        ),
        "warc": Form("WARC", "warc.gz", "application/warc", documents=warc),
        "wacz": Form("WACZ", "wacz", "application/wacz", documents=wacz),
    }
)
