"""The rows an extraction leaves: one for each body that was read, one for each capture and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from fonds.derivatives.documents import parse_authors
from fonds.derivatives.jats import SUCCESS, UNREADABLE
from fonds.ingest.bulk.record_reading import BodyResult, RecordState
from fonds.model.disposition import Disposition
from fonds.model.file import FileMeta
from fonds.model.paper import JATS_VERSION
from fonds.model.pdf import PdfText
from fonds.model.story import ParsedPage
from fonds.papers.article_result import ArticleResult
from fonds.queues.messages.envelope import encode_story

if TYPE_CHECKING:  # a command that reads nothing loads no reader of XML
    from fonds.papers.bibliography.jats import JatsReading

PLACE: Mapping[str, str] = {
    "url": "text",
    "datetime": "time",
    "warc_path": "text",
    "warc_offset": "integer",
    "warc_csize": "integer",
}
ENDED: Mapping[str, str] = {"verdict": "text", "reason": "text", "detail": "text"}
FILES: Mapping[str, str] = {
    "sha1hex": "text",
    "sha256hex": "text",
    "md5hex": "text",
    "size_bytes": "integer",
    "mimetype": "text",
    "kind": "text",
    **PLACE,
    **ENDED,
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
CAPTURES: Mapping[str, str] = {
    **PLACE,
    "record_type": "text",
    "mimetype": "text",
    "sha1hex": "text",
    **ENDED,
}
RESULTS: Mapping[str, Mapping[str, str]] = {"files": FILES, "captures": CAPTURES}
"""The folders of the result, each with its columns and what they hold (`fonds.model.parquet`)."""


def build_capture_row(record: RecordState, ending: Disposition) -> dict[str, Any]:
    """A capture and how it ended."""
    return {
        **_build_place_fields(record),
        "record_type": record.capture.record_type,
        "mimetype": record.file.mime if record.file else None,
        "sha1hex": record.file.sha1 if record.file else None,
        **_build_ending_fields(ending),
    }


def build_file_row(record: RecordState, file: FileMeta, result: BodyResult) -> dict[str, Any]:
    """A body with what was learned of it; what was not is None."""
    row: dict[str, Any] = dict.fromkeys(FILES)
    row |= {
        "sha1hex": file.sha1,
        "sha256hex": file.sha256,
        "md5hex": file.md5,
        "size_bytes": file.size,
        "mimetype": file.mime,
        "kind": str(file.kind),
        "thumbnail": result.thumbnail,
        **_build_place_fields(record),
        **_build_ending_fields(result.ended),
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
    extra = dict(pdf_text.pdf_extra or {})
    told = {
        "pdf_info": pdf_text.pdf_info,
        "pdf_extra": pdf_text.pdf_extra,
        "meta_xml": pdf_text.meta_xml,
    }
    paper = extra.get("bibliography")
    return {
        "status": str(pdf_text.status),
        "extractor": pdf_text.extractor,
        "title": extra.get("title") or None,
        "authors": list(parse_authors(extra.get("authors"))) or None,
        "publication_date": paper.get("date") if isinstance(paper, dict) else None,
        "language": extra.get("language"),
        "page_count": extra.get("page_count"),
        "word_count": extra.get("word_count"),
        "doi": extra.get("doi") or None,
        "metadata": _encode_json(told),
        "text": pdf_text.text,
    }


def _build_story_fields(page: ParsedPage) -> dict[str, Any]:
    content = page.story.content_metadata
    told = encode_story(page.story)
    # The text has a column of its own; the time of parsing would tell one run from the next.
    for name in ("text_content", "parsed_date"):
        told.get("content_metadata", {}).pop(name, None)
    return {
        "status": "success",
        "extractor": page.extractor,
        "story_id": page.story_id,
        "title": content.article_title,
        "authors": list(parse_authors(page.story.page_metadata.authors)) or None,
        "publication_date": content.publication_date,
        "language": content.language,
        "metadata": _encode_json(told),
        "text": content.text_content,
    }


def _build_article_fields(article: JatsReading) -> dict[str, Any]:
    kept = article.reading
    said = kept.row.get("biblio", {})
    return {
        "status": SUCCESS if kept.error is None else UNREADABLE,
        "detail": kept.error,
        "extractor": JATS_VERSION,
        "title": said.get("title"),
        "authors": list(parse_authors(said.get("authors"))) or None,
        "publication_date": article.date,
        "language": article.language,
        "word_count": len(article.text.split()) if kept.error is None else None,
        "doi": said.get("doi"),
        "metadata": _encode_json(
            {"bibliography": msgspec.json.decode(kept.metadata)} if kept.metadata else {}
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
    return msgspec.json.encode(value, order="deterministic", enc_hook=str).decode()
