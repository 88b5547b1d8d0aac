"""The library as rows, one for each file, for research: flat, typed, in the order of their SHA-1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from fonds.kinds import story
from fonds.kinds.documents import UNKNOWN, origins
from fonds.model.keys import text_blob_key
from fonds.model.rows import CdxRow, FileMetaRow, PdfMetaRow, StoryMetaRow
from fonds.ports import Stores

CHUNK = 200
FIELDS = {
    "sha1hex": "text",
    "sha256hex": "text",
    "md5hex": "text",
    "size_bytes": "integer",
    "mimetype": "text",
    "kind": "text",
    "status": "text",
    "url": "text",
    "datetime": "text",
    "warc_path": "text",
    "warc_offset": "integer",
    "warc_csize": "integer",
    "captures": "integer",
    "title": "text",
    "publication_date": "text",
    "language": "text",
    "canonical_domain": "text",
    "collection": "text",
    "story_id": "text",
    "page_count": "integer",
    "word_count": "integer",
    "extractor": "text",
    "metadata": "text",
    "text": "text",
}


def exported(stores: Stores, *, with_text: bool) -> Iterator[dict[str, Any]]:
    """Every file that was kept, as one flat row with the keys of FIELDS; absent values are None."""
    rows = stores.records.find(FileMetaRow)
    while chunk := list(islice(rows, CHUNK)):
        yield from _chunk(stores, chunk, with_text)


def _chunk(
    stores: Stores, files: Sequence[FileMetaRow], with_text: bool
) -> Iterator[dict[str, Any]]:
    keys = [file.sha1hex for file in files]
    pdfs = {row.sha1hex: row for row in stores.records.get(PdfMetaRow, keys)}
    stories = {row.sha1hex: row for row in stores.records.get(StoryMetaRow, keys)}
    documents = stores.index.get(list(pdfs))
    # Each version of a story is a row here; the index has one of them.
    came = origins(stores.records, list(stories))
    documents |= {
        key: story.document(row, None, came.get(key, UNKNOWN)) for key, row in stories.items()
    }
    captures: dict[str, list[CdxRow]] = {key: [] for key in keys}
    for row in stores.records.find(CdxRow, {"sha1hex": keys}, order=("datetime", "warc_path")):
        captures[row.sha1hex].append(row)
    for file in files:
        key = file.sha1hex
        values: dict[str, Any] = dict.fromkeys(FIELDS)
        values |= {
            "sha1hex": key,
            "sha256hex": file.sha256hex,
            "md5hex": file.md5hex,
            "size_bytes": file.size_bytes,
            "mimetype": file.mimetype,
            "kind": "pdf" if file.mimetype == "application/pdf" else "story",
        }
        values |= _place(captures[key]) | _described(pdfs.get(key), stories.get(key))
        document = documents.get(key)
        if document is not None:
            values["title"] = document.article_title
            values["language"] = document.language
            values["canonical_domain"] = document.canonical_domain
            values["collection"] = document.collection
            day = document.publication_date
            values["publication_date"] = day.isoformat() if day else None
        if with_text:
            blob = stores.blobs.get(text_blob_key(key))
            values["text"] = blob.decode("utf-8", "replace") if blob is not None else None
        yield values


def _place(rows: Sequence[CdxRow]) -> dict[str, Any]:
    first = next((row for row in rows if row.mimetype != "warc/revisit"), None)
    if first is None:
        return {"captures": len(rows)}
    return {
        "url": first.url,
        "datetime": first.datetime,
        "warc_path": first.warc_path,
        "warc_offset": first.warc_offset,
        "warc_csize": first.warc_csize,
        "captures": len(rows),
    }


def _described(pdf: PdfMetaRow | None, page: StoryMetaRow | None) -> dict[str, Any]:
    if pdf is not None:
        return {
            "status": pdf.status,
            "page_count": pdf.page_count,
            "word_count": pdf.word_count,
            "extractor": pdf.extractor,
            "metadata": _text(pdf.metadata) if pdf.metadata else None,
        }
    if page is not None:
        return {
            "status": page.status,
            "url": page.url,
            "story_id": page.story_id,
            "word_count": page.word_count,
            "extractor": page.extractor,
            "metadata": _text(page.story),
        }
    return {}


def _text(value: object) -> str:
    """JSON with its names in order: PostgreSQL keeps none, and exports are to be compared."""
    return msgspec.json.encode(value, order="deterministic").decode()
