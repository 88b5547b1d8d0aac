"""JSON answers of the commands that ingest, fetch, extract and reprocess documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fonds.cli.answers.answer import build_answer
from fonds.cli.json_answers import AnswerDescription

ACCOUNT = (
    ("in", "integer", "records received: the sum of the next four"),
    ("done", "integer", "records that were kept"),
    ("dropped", "object", "records set aside or refused, by reason"),
    ("quarantined", "object", "records in quarantine, by reason"),
    ("pending", "integer", "records in flight"),
    ("without_text", "object", "records of `done` without searchable text, by reason"),
)
WORK = (
    *ACCOUNT,
    ("seconds", "number", "duration in seconds"),
    ("known", "integer", "records already ingested by earlier runs"),
    ("processes", "integer", "number of processes"),
    ("read_later", "integer", "failures that ended because a later read succeeded"),
    ("still_failing", "integer", "records of `in` that failed in an earlier run and still fail"),
    (
        "retries",
        "list",
        (
            "samples of messages that wait for their next attempt: url, reason, detail, "
            "attempt, next_attempt_at"
        ),
    ),
)
WORKED_OFF = build_answer("one, when the work is done", *WORK)
RETRIED = build_answer(
    "`failures retry`: one, for the retried records",
    *WORK,
    ("retried", "integer", "messages that were retried"),
)
ENTERED_ONLY = build_answer(
    "one with --enter-only",
    ("entered", "integer", "records that entered"),
    ("inputs", "integer", "number of their inputs"),
    ("known", "integer", "records that were already known"),
    ("read_later", "integer", "failures that ended because a later read succeeded"),
)
DRY_RUN = build_answer(
    "one for each input with --dry-run",
    ("input", "text", "path or URL of the input"),
    ("links", "integer", "links that would enter"),
    ("others", "object", "links that would not enter, by reason"),
    ("error", "text?", "why it could not be read to the end"),
    ("known", "boolean", "whether an earlier run read it"),
    ("first", "list", "the first links"),
)
CATCH_UP = (
    WORKED_OFF,
    build_answer(
        "one with --enter-only",
        ("seen", "integer", "files examined"),
        ("sent", "integer", "files sent to be read again"),
        ("on_their_way", "integer", "files already in flight"),
        ("lost", "integer", "files whose bytes cannot be located"),
    ),
    build_answer(
        "one with --dry-run",
        ("wanted", "integer", "files that would be read"),
        ("by_status", "object", "these files by their current status"),
    ),
)
EXTRACTED = build_answer(
    "one for each capture, in input order",
    ("path", "text", "place of the capture: path and offset, or member"),
    ("sha1hex", "text?", "SHA-1 of its body; null if it has no body"),
    ("kind", "text?", "pdf, story, jats, unread; null if Fonds does not store this type"),
    ("status", "text", "the verdict: done, dropped or quarantined"),
    ("reason", "text?", "why; see docs/reasons.md"),
    ("detail", "text", "details of the reason"),
    ("url", "text", "URL of the capture"),
    ("pdf*", "object", "of a PDF: text, metadata and thumbnails"),
    ("story*", "object", "of a story: its sub-objects, story_id and extractor"),
)
BACKFILL = (
    ("counts", "object", "number of lines or rows by result"),
    ("examples", "object", "samples of refused lines or rows, by reason"),
    ("seconds", "number", "duration in seconds"),
)
ANSWERS: Mapping[str, Sequence[AnswerDescription]] = {
    "ingest": (WORKED_OFF, ENTERED_ONLY, DRY_RUN),
    "fetch": (WORKED_OFF, ENTERED_ONLY, DRY_RUN),
    "extract": (EXTRACTED,),
    "catchup": (
        build_answer(
            "one for each derivative kind with --list",
            ("kind", "text", "name of the kind"),
            ("table", "text", "table of its rows"),
            ("made_by", "text", "step that stores it"),
            (
                "read_by",
                "text?",
                ("step that computes it; null if it is computed with another kind"),
            ),
        ),
    ),
    **{f"catchup {kind}": CATCH_UP for kind in ("pdf", "story", "jats", "grobid", "match")},
    "catchup sketch": (
        build_answer("one", ("remade", "integer", "rows derived from stored texts")),
    ),
    "backfill cdx": (build_answer("one", *BACKFILL),),
    "backfill extract": (
        build_answer(
            "one",
            ("warcs", "list", "paths of the WARC files"),
            ("records", "integer", "records read"),
            ("ended", "object", "records by `verdict` or `verdict:reason`"),
            ("wrong", "list", "WARC files that have faults or could not be read"),
            ("seconds", "number", "duration in seconds"),
        ),
    ),
}
