"""Answers of `archive extract`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fonds.cli.answers.answer import build_answer
from fonds.cli.json_answers import AnswerDescription

ANSWERS: Mapping[str, Sequence[AnswerDescription]] = {
    "archive extract": (
        build_answer(
            "of a path and offset: one",
            ("warc_path", "text", "path of the WARC"),
            (
                "warc_offset",
                "integer",
                "where it begins; of the n-th record in one member plus 2^40 (n - 1)",
            ),
            ("record_type", "text?", "its WARC-Type"),
            ("url", "text?", "its WARC-Target-URI"),
            ("date", "text?", "its WARC-Date"),
            ("status", "integer?", "the HTTP status"),
            ("body_bytes", "integer", "length of the body, codings undone"),
        ),
        build_answer(
            "of a capture that is known: one, a row of `cdx` and",
            ("warc_path", "text", "name or path of the WARC"),
            (
                "warc_offset",
                "integer",
                "where it begins; of the n-th record in one member plus 2^40 (n - 1)",
            ),
            ("warc_csize", "integer?", "its length there"),
            ("capture_id", "text", "id of the capture"),
            ("sha1hex", "text", "SHA-1 of the body"),
            ("url", "text", "its address"),
            ("surt", "text", "the same as SURT"),
            ("surt_key", "text", "the same as it is sorted"),
            ("datetime", "text", "time of the capture, 14 digits"),
            ("mimetype", "text", "media type, `warc/revisit` for a revisit"),
            ("row_created", "time", "when it was noted"),
            ("status", "integer?", "the HTTP status"),
            ("body_bytes", "integer", "length of the body, codings undone"),
            ("source", "object", "where the body was read: kind, path, offset, size"),
        ),
    ),
}
