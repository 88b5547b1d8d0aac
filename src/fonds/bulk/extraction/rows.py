"""The rows an extraction leaves: one for each body that was read, one for each capture and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from fonds.bulk.extraction.articles import ArticleRead
from fonds.bulk.extraction.carrying import Learned
from fonds.bulk.extraction.found import Found
from fonds.formats.envelope import story_to_json
from fonds.kinds.documents import authors_of
from fonds.kinds.papers.jats import SUCCESS, UNREADABLE
from fonds.model.disposition import Disposition
from fonds.model.file import FileMeta
from fonds.model.paper import JATS_VERSION
from fonds.model.pdf import PdfText
from fonds.model.story import Parsed

if TYPE_CHECKING:  # a command that reads nothing loads no reader of XML
    from fonds.bibliography.jats_reading import JatsReading

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
"""The folders of the result, each with its columns and what they hold (`fonds.formats.parquet`)."""


def capture_row(found: Found, ended: Disposition) -> dict[str, Any]:
    """A capture and how it ended."""
    return {
        **_place(found),
        "record_type": found.capture.record_type,
        "mimetype": found.file.mime if found.file else None,
        "sha1hex": found.file.sha1 if found.file else None,
        **_ended(ended),
    }


def file_row(found: Found, file: FileMeta, learned: Learned) -> dict[str, Any]:
    """A body with what was learned of it; what was not is None."""
    row: dict[str, Any] = dict.fromkeys(FILES)
    row |= {
        "sha1hex": file.sha1,
        "sha256hex": file.sha256,
        "md5hex": file.md5,
        "size_bytes": file.size,
        "mimetype": file.mime,
        "kind": str(file.kind),
        "thumbnail": learned.thumbnail,
        **_place(found),
        **_ended(learned.ended),
    }
    match learned.made:
        case PdfText() as made:
            row |= _of_pdf(made)
        case Parsed() as made:
            row |= _of_story(made)
        case ArticleRead() as made:
            row |= _of_article(made.reading)
    return row


def _of_pdf(made: PdfText) -> dict[str, Any]:
    extra = dict(made.pdf_extra or {})
    told = {"pdf_info": made.pdf_info, "pdf_extra": made.pdf_extra, "meta_xml": made.meta_xml}
    paper = extra.get("bibliography")
    return {
        "status": str(made.status),
        "extractor": made.extractor,
        "title": extra.get("title") or None,
        "authors": list(authors_of(extra.get("authors"))) or None,
        "publication_date": paper.get("date") if isinstance(paper, dict) else None,
        "language": extra.get("language"),
        "page_count": extra.get("page_count"),
        "word_count": extra.get("word_count"),
        "doi": extra.get("doi") or None,
        "metadata": _json(told),
        "text": made.text,
    }


def _of_story(made: Parsed) -> dict[str, Any]:
    content = made.story.content_metadata
    told = story_to_json(made.story)
    # The text has a column of its own; the time of parsing would tell one run from the next.
    for name in ("text_content", "parsed_date"):
        told.get("content_metadata", {}).pop(name, None)
    return {
        "status": "success",
        "extractor": made.extractor,
        "story_id": made.story_id,
        "title": content.article_title,
        "authors": list(authors_of(made.story.page_metadata.authors)) or None,
        "publication_date": content.publication_date,
        "language": content.language,
        "metadata": _json(told),
        "text": content.text_content,
    }


def _of_article(found: JatsReading) -> dict[str, Any]:
    kept = found.kept
    said = kept.row.get("biblio", {})
    return {
        "status": SUCCESS if kept.error is None else UNREADABLE,
        "detail": kept.error,
        "extractor": JATS_VERSION,
        "title": said.get("title"),
        "authors": list(authors_of(said.get("authors"))) or None,
        "publication_date": found.date,
        "language": found.language,
        "word_count": len(found.text.split()) if kept.error is None else None,
        "doi": said.get("doi"),
        "metadata": _json(
            {"bibliography": msgspec.json.decode(kept.metadata)} if kept.metadata else {}
        ),
        "text": found.text or None,
    }


def _place(found: Found) -> dict[str, Any]:
    capture = found.capture
    return {
        "url": capture.url,
        "datetime": capture.datetime14,
        "warc_path": capture.place.path,
        "warc_offset": capture.place.offset,
        "warc_csize": capture.place.size_bytes,
    }


def _ended(ended: Disposition) -> dict[str, Any]:
    reason = str(ended.reason) if ended.reason else None
    return {"verdict": str(ended.verdict), "reason": reason, "detail": ended.detail or None}


def _json(value: object) -> str:
    return msgspec.json.encode(value, order="deterministic", enc_hook=str).decode()
