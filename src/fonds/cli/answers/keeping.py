"""Answers of the commands of archive and table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fonds.cli.answers.answer import build_answer
from fonds.cli.json_answers import AnswerDescription

ROW = build_answer(
    "one for each row",
    ("key", "text", "the row's key, in hex or base32"),
    ("cells", "object", "its cells by `family:name`, typed by column"),
)
ANSWERS: Mapping[str, Sequence[AnswerDescription]] = {
    "archive list": (
        build_answer(
            "one for each WARC file of ours",
            ("warc_path", "text", "its name"),
            ("size_bytes", "integer?", "its length, null where it is gone"),
            ("captures", "integer?", "captures in it, null without an index"),
            ("from", "text?", "time of the first capture, 14 digits"),
            ("to", "text?", "time of the last capture, 14 digits"),
            ("state", "text", "open, finished, waiting (to be sent), without index, gone"),
        ),
    ),
    "archive verify": (
        build_answer(
            "one for each file",
            ("warc_path", "text", "its name or path"),
            ("size_bytes", "integer", "its length"),
            ("is_open", "boolean", "whether it is still being written"),
            ("records", "object", "records by type"),
            ("digests", "integer", "digests that were checked"),
            ("unchecked", "integer", "digests of kinds that cannot be checked"),
            ("faults_total", "integer", "how many faults"),
            ("faults", "list", "offset and words of each, at most 1,000"),
        ),
    ),
    "archive reindex": (
        build_answer(
            "one for each file",
            ("warc_path", "text", "its name"),
            ("index", "text", "`changed`, `as it was`, `open`, or why it could not be"),
        ),
    ),
    "archive upload": (
        build_answer(
            "one",
            ("sent", "object", "bytes of the files sent, by name"),
            ("left", "object", "bytes of the files that could not be sent, by name"),
        ),
    ),
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
    "table create": (
        build_answer(
            "one",
            ("table", "text", "its name"),
            ("families", "list", "its families"),
        ),
    ),
    "table list": (
        build_answer(
            "one for each table",
            ("table", "text", "its name"),
            ("families", "list", "its families"),
            ("journal", "boolean", "whether it is the journal of this home"),
        ),
    ),
    "table get": (ROW,),
    "table scan": (ROW,),
    "table put": (
        build_answer(
            "one",
            ("key", "text", "the row's key"),
            ("cells", "integer", "cells written"),
        ),
    ),
    "table export": (
        build_answer(
            "one, where a file is written",
            ("rows", "integer", "rows written"),
            ("left_out", "integer", "rows the form has no line for"),
        ),
    ),
    "table import": (
        build_answer(
            "one",
            ("rows", "integer", "rows written"),
            ("refused", "integer", "lines that are no rows"),
        ),
    ),
}
