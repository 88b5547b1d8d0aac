"""Answers of the commands that take something in, work it off and read it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fonds.cli.answers.answer import build_answer
from fonds.cli.json_answers import AnswerDescription

ACCOUNT = (
    ("in", "integer", "records that came in: the sum of the next four"),
    ("done", "integer", "records that were kept"),
    ("dropped", "object", "records set aside or refused, by reason"),
    ("quarantined", "object", "records that failed and wait, by reason"),
    ("pending", "integer", "records still on their way"),
    ("without_text", "object", "those of `done` that have no text to search, by reason"),
)
WORK = (
    *ACCOUNT,
    ("seconds", "number", "how long it took"),
    ("known", "integer", "records that were here already from earlier runs"),
    ("processes", "integer", "how many processes worked"),
    ("read_later", "integer", "failures that ended because what failed was read now"),
    ("still_failing", "integer", "records of `in` that failed in an earlier run and still fail"),
    (
        "retries",
        "list",
        "some of what waits for its next attempt: url, reason, detail, attempt, next_attempt_at",
    ),
)
WORKED_OFF = build_answer("one, when the work is done", *WORK)
RETRIED = build_answer(
    "`failures retry`: one, of the records that were tried again",
    *WORK,
    ("retried", "integer", "messages that were tried again"),
)
ENTERED_ONLY = build_answer(
    "with --enter-only, one",
    ("entered", "integer", "records that entered"),
    ("inputs", "integer", "inputs they came from"),
    ("known", "integer", "records that were here already"),
    ("read_later", "integer", "failures that ended because what failed was read now"),
)
DRY_RUN = build_answer(
    "with --dry-run, one for each input",
    ("input", "text", "path or URL of the input"),
    ("links", "integer", "links it holds that would enter"),
    ("others", "object", "what would not, by reason"),
    ("error", "text?", "why it could not be read to its end"),
    ("known", "boolean", "whether it was read by an earlier run"),
    ("first", "list", "the first of the links"),
)
CATCH_UP = (
    WORKED_OFF,
    build_answer(
        "with --enter-only, one",
        ("seen", "integer", "files looked at"),
        ("sent", "integer", "files sent to be read again"),
        ("on_their_way", "integer", "files that were on their way already"),
        ("lost", "integer", "files whose bytes lie nowhere"),
    ),
    build_answer(
        "with --dry-run, one",
        ("wanted", "integer", "files that would be read"),
        ("by_status", "object", "the same by the status they have now"),
    ),
)
EXTRACTED = build_answer(
    "one for each capture, in the order found",
    ("path", "text", "where the capture lies: path and offset, or member"),
    ("sha1hex", "text?", "SHA-1 of its body, null for one without bytes"),
    ("kind", "text?", "pdf, story, jats, unread; null for what is no file to Fonds"),
    ("status", "text", "the verdict: done, dropped or quarantined"),
    ("reason", "text?", "why, out of docs/reasons.md"),
    ("detail", "text", "the particulars"),
    ("url", "text", "address of the capture"),
    ("pdf*", "object", "of a PDF: text, metadata and thumbnails"),
    ("story*", "object", "of a story: its sub-objects, story_id and extractor"),
)
BACKFILL = (
    ("counts", "object", "what became of lines or rows, by name"),
    ("examples", "object", "a few of those refused, by name"),
    ("seconds", "number", "how long it took"),
)
ANSWERS: Mapping[str, Sequence[AnswerDescription]] = {
    "ingest": (WORKED_OFF, ENTERED_ONLY, DRY_RUN),
    "fetch": (WORKED_OFF, ENTERED_ONLY, DRY_RUN),
    "extract": (EXTRACTED,),
    "catchup": (
        build_answer(
            "with --list, one for each kind of derivative",
            ("kind", "text", "its name"),
            ("table", "text", "the table of its rows"),
            ("made_by", "text", "the step that keeps it"),
            ("read_by", "text?", "the step that makes it, null where it comes with another"),
        ),
    ),
    **{f"catchup {kind}": CATCH_UP for kind in ("pdf", "story", "jats", "grobid", "match")},
    "catchup sketch": (
        build_answer("one", ("remade", "integer", "rows made of texts that are kept")),
    ),
    "backfill cdx": (build_answer("one", *BACKFILL),),
    "backfill extract": (
        build_answer(
            "one",
            ("warcs", "list", "paths of the WARC files"),
            ("records", "integer", "records read"),
            ("ended", "object", "records by `verdict` or `verdict:reason`"),
            ("wrong", "list", "WARC files whose books do not add up, or could not be read"),
            ("seconds", "number", "how long it took"),
        ),
    ),
}
