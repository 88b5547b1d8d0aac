"""Rows of the Parquet files of an extraction: one per extracted body, and one per capture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from fonds.derivatives.documents import parse_authors
from fonds.derivatives.jats import SUCCESS, UNREADABLE
from fonds.ingest.bulk.record_reading import BodyResult, RecordState
from fonds.model.bibliography import PaperHead
from fonds.model.disposition import Disposition
from fonds.model.file import FileMeta
from fonds.model.paper import JATS_VERSION
from fonds.model.pdf import PdfText
from fonds.model.pdf_extra import PdfExtra
from fonds.model.story import ParsedPage
from fonds.model.story_json import encode_story
from fonds.papers.article_result import ArticleResult

if TYPE_CHECKING:  # Avoids loading the XML parser when nothing is extracted.
    from fonds.papers.bibliography.jats import JatsReading

PLACE_COLUMNS: Mapping[str, str] = {
    "url": "text",
    "datetime": "time",
    "warc_path": "text",
    "warc_offset": "integer",
    "warc_csize": "integer",
}
ENDING_COLUMNS: Mapping[str, str] = {"verdict": "text", "reason": "text", "detail": "text"}
FILE_COLUMNS: Mapping[str, str] = {
    "sha1hex": "text",
    "sha256hex": "text",
    "md5hex": "text",
    "size_bytes": "integer",
    "mimetype": "text",
    "kind": "text",
    **PLACE_COLUMNS,
    **ENDING_COLUMNS,
    "status": "text",
    "extractor": "text",
    "story_id": "text",
    "title": "text",
    "authors": "texts",
    "publication_date": "date",
    "language": "text",
    "page_count": "integer",
    "word_count": "integer",
    "doi": "text",
    "metadata": "text",
    "text": "text",
    "thumbnail": "bytes",
}
CAPTURE_COLUMNS: Mapping[str, str] = {
    **PLACE_COLUMNS,
    "record_type": "text",
    "mimetype": "text",
    "sha1hex": "text",
    **ENDING_COLUMNS,
}
RESULT_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "files": FILE_COLUMNS,
    "captures": CAPTURE_COLUMNS,
}
"""Columns of the Parquet files in each output folder (`files` and `captures`): column name to type,
such as `integer` (`fonds.model.parquet`).
"""


def build_capture_row(record: RecordState, ending: Disposition) -> dict[str, Any]:
    """Build the Parquet row of a capture: its location, type and SHA-1, and how its extraction
    ended.

    `ending` gives the verdict, reason and detail.
    """
    return {
        **_build_place_fields(record),
        "record_type": record.capture.record_type,
        "mimetype": record.file.mime if record.file else None,
        "sha1hex": record.file.sha1 if record.file else None,
        **_build_ending_fields(ending),
    }


def build_file_row(record: RecordState, file: FileMeta, result: BodyResult) -> dict[str, Any]:
    """Build the Parquet row of a file: its hashes and location, and the result of extracting its
    body.

    `record` is the capture from which the body was read. Unknown values are None.
    """
    row: dict[str, Any] = dict.fromkeys(FILE_COLUMNS)
    row |= {
        "sha1hex": file.sha1,
        "sha256hex": file.sha256,
        "md5hex": file.md5,
        "size_bytes": file.size,
        "mimetype": file.mime,
        "kind": str(file.kind),
        "thumbnail": result.thumbnail,
        **_build_place_fields(record),
        **_build_ending_fields(result.disposition),
    }
    match result.output:
        case PdfText() as made:
            row |= _build_pdf_fields(made)
        case ParsedPage() as made:
            row |= _build_story_fields(made)
        case ArticleResult() as made:
            row |= _build_article_fields(made.reading)
    return row


def _build_pdf_fields(pdf_text: PdfText) -> dict[str, Any]:
    extra = pdf_text.pdf_extra or PdfExtra()
    metadata = {
        "pdf_info": pdf_text.pdf_info,
        "pdf_extra": pdf_text.pdf_extra,
        "meta_xml": pdf_text.meta_xml,
    }
    return {
        "status": str(pdf_text.status),
        "extractor": pdf_text.extractor,
        "title": extra.title,
        "authors": list(parse_authors(extra.authors)) or None,
        "publication_date": extra.bibliography.date if extra.bibliography else None,
        "language": extra.language,
        "page_count": extra.page_count,
        "word_count": extra.word_count,
        "doi": extra.doi,
        "metadata": _encode_json(metadata),
        "text": pdf_text.text,
    }


def _build_story_fields(page: ParsedPage) -> dict[str, Any]:
    content = page.story.content_metadata
    metadata = encode_story(page.story)
    # The text has its own column, and the parse time would differ between runs.
    for name in ("text_content", "parsed_date"):
        metadata.get("content_metadata", {}).pop(name, None)
    return {
        "status": "success",
        "extractor": page.extractor,
        "story_id": page.story_id,
        "title": content.article_title,
        "authors": list(parse_authors(page.story.page_metadata.authors)) or None,
        "publication_date": content.publication_date,
        "language": content.language,
        "metadata": _encode_json(metadata),
        "text": content.text_content,
    }


def _build_article_fields(article: JatsReading) -> dict[str, Any]:
    reading = article.reading
    head = reading.summary.head if reading.summary else PaperHead()
    return {
        "status": SUCCESS if reading.error is None else UNREADABLE,
        "detail": reading.error,
        "extractor": JATS_VERSION,
        "title": head.title,
        "authors": list(parse_authors([author.name for author in head.authors])) or None,
        "publication_date": article.date,
        "language": article.language,
        "word_count": len(article.text.split()) if reading.error is None else None,
        "doi": head.doi,
        "metadata": _encode_json(
            {"bibliography": msgspec.json.decode(reading.metadata)} if reading.metadata else {}
        ),
        "text": article.text or None,
    }


def _build_place_fields(record: RecordState) -> dict[str, Any]:
    capture = record.capture
    return {
        "url": capture.url,
        "datetime": capture.datetime14,
        "warc_path": capture.place.path,
        "warc_offset": capture.place.offset,
        "warc_csize": capture.place.size_bytes,
    }


def _build_ending_fields(ending: Disposition) -> dict[str, Any]:
    reason = str(ending.reason) if ending.reason else None
    return {"verdict": str(ending.verdict), "reason": reason, "detail": ending.detail or None}


def _encode_json(value: object) -> str:
    return msgspec.json.encode(value, order="sorted", enc_hook=str).decode()
