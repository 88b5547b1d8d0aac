"""Answers of the commands that find, show and account for what is here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fonds.cli.commands.answers.answer import Answer, answer
from fonds.cli.commands.answers.taking_in import ACCOUNT, WORKED_OFF

SEARCH = (
    answer(
        "first, where the words name a file",
        ("direct", "object", "named (url, sha1, …), sha1hex, title, url, kind"),
    ),
    answer(
        "one for each result, the names those of `/api/search`",
        ("id", "text", "SHA-1 of a PDF, story id of a story"),
        ("sha1hex", "text", "SHA-1 of the file its text is of"),
        ("kind", "text", "pdf, story or jats"),
        ("title", "text?", "its title"),
        ("url", "text", "address it was captured at"),
        ("canonical_domain", "text", "its domain, empty for none"),
        ("collection", "text", "collection it was taken in under"),
        ("language", "text?", "two letters"),
        ("publication_date", "time?", "the day published, or the file was made"),
        ("date_kind", "text?", "which of the two: published or created"),
        ("captured", "time?", "day of its capture"),
        ("indexed_date", "time", "when it came into the index"),
        ("authors", "list", "their names"),
        ("doi", "text?", "its DOI"),
        ("page_count", "integer?", "pages of a PDF"),
        ("word_count", "integer?", "words"),
        ("has_thumbnail", "boolean", "whether there is a picture of its first page"),
        ("score", "number", "how well it fits, by the index's own measure"),
        ("title_marks", "list", "(start, end) of matches in the title"),
        ("snippet", "text", "the first passage"),
        (
            "snippets",
            "list",
            "up to three passages: text, marks, page of a PDF, whether they begin or end within a sentence",
        ),
    ),
    answer(
        "last, with --themes-of",
        ("themes", "object", "collection, counts by theme, apart, outside, looked_at, total"),
    ),
)
SHOW = (
    answer(
        "one for each file the key stands for",
        ("sha1hex", "text", "its SHA-1"),
        ("file", "object?", "the row of `file_meta`: other hashes, size_bytes, mimetype, kind"),
        ("derivatives", "object", "the row of each derivative, by kind"),
        ("document", "object?", "what the index holds of it"),
        ("searched", "text?", "SHA-1 of the version of its story that is in the index"),
        ("captures", "list", "places in WARC files, at most 1,000: rows of `cdx`"),
        ("captures_total", "integer", "how many there are"),
        ("entries", "list", "how it came in: rows of `entries`"),
        ("history", "list", "how its messages ended, at most 1,000"),
        ("history_total", "integer", "how many there are"),
        ("text_key", "text?", "blob of its text"),
        ("thumbnail_key", "text?", "blob of its thumbnail"),
        ("relatives", "object", "other versions and near-duplicates, with totals"),
        ("citations", "list", "what it cites, at most 1,000: reference, work, status"),
        ("citations_total", "integer", "how many there are"),
        ("collections", "list", "the clusters it is in"),
    ),
    answer(
        "one for each entry, of what came to no file",
        ("entry_id", "text", "its id"),
        ("entries", "list", "its rows of `entries`, one for each pipeline"),
        ("branches", "list", "its messages, each with its depth below the first"),
        ("total", "integer", "how many messages there are"),
    ),
)
CHANGES = (
    answer(
        "one for each later version, the one captured last first, the names those of `/api/changes`",
        ("sha1hex", "text", "the version's SHA-1"),
        ("since", "text", "SHA-1 of the version captured before it"),
        ("story_id", "text", "the story of both"),
        ("url", "text", "its address"),
        ("site", "text", "its site, empty for none"),
        ("title", "text?", "its headline"),
        ("title_before", "text?", "that of the version before"),
        ("language", "text?", "two letters"),
        ("captured", "text", "when it was captured, 14 digits"),
        ("since_captured", "text", "when the version before was"),
        ("extractor", "text", "what read it"),
        ("since_extractor", "text", "what read the version before"),
        ("change", "text", "edited, same-text, other-extractor or unknown"),
        ("is_headline_changed", "boolean", "whether the headline is another"),
        ("words_added", "integer?", "words the text gained, null where it was not compared"),
        ("words_removed", "integer?", "words it lost"),
        ("is_coarse", "boolean", "whether stretches are counted whole, or the text was cut"),
        ("headline", "list", "stretches of the headline: kind, text, words"),
        ("text", "list", "the first stretches of the text that changed, with words around them"),
        ("href", "text", "its page, of `fonds serve`"),
    ),
    answer(
        "last",
        ("walked", "integer", "versions that were looked at"),
        ("counts", "object", "how many of them are later versions, by change"),
        ("complete", "boolean", "whether these are all versions there are"),
    ),
)
FAILURES = (
    answer(
        "one for each group, the largest first",
        ("group", "text", "id of the group, for --group"),
        ("pipeline", "text", "where it failed"),
        ("step", "text", "the step it failed at"),
        ("reason", "text", "why, out of docs/reasons.md"),
        ("cause", "text", "what the details have in common"),
        ("host", "text", "host of the addresses, empty for none"),
        ("count", "integer", "how many failures"),
        ("first_at", "time?", "when the first failed"),
        ("last_at", "time?", "when the last failed"),
        ("sample", "object?", "one of them: a row of `entries`"),
    ),
    answer(
        "one for each reason counted by a source, and for what was accepted",
        ("reason", "text", "the reason"),
        ("count", "integer", "how many"),
        ("counted_at*", "text", "`source`: there is no row for each"),
    ),
    answer(
        "one for each input that was not read to its end", ("input", "object", "a row of `inputs`")
    ),
    answer(
        "with --list, one for each failure: a row of `entries`",
        ("entry_id", "text", "id of the entry"),
        ("pipeline", "text", "pipeline it came into"),
        ("kind", "text", "what it is: capture, link, …"),
        ("input_id", "text", "input it came from"),
        ("url", "text", "its address"),
        ("seen", "text?", "time of the capture, 14 digits"),
        ("place", "text?", "where its bytes lie"),
        ("collection", "text", "collection it was taken in under"),
        ("entered_at", "time", "when it came in"),
        ("outcome", "text", "done, dropped, quarantined or pending"),
        ("open_count", "integer", "messages of it not settled yet"),
        ("weight", "integer", "how heavy its ending is, for sorting"),
        ("reason", "text?", "why it ended so"),
        ("step", "text?", "the step that decided it"),
        ("message_id", "text?", "the message that decided it"),
        ("about", "text?", "SHA-1 or id of what it is about"),
        ("detail", "text?", "the particulars"),
        ("settled_at", "time?", "when it was decided"),
        ("failure_group", "text?", "id of its group"),
    ),
    answer("`failures accept`: one", ("accepted", "integer", "messages taken as final")),
    WORKED_OFF,
)
AUDIT = (
    ("balanced", "boolean", "whether everything adds up and is there"),
    ("missing", "list", "what is missing, the first hundred in words"),
    ("missing_count", "integer", "faults found, a message in no queue as one"),
    ("faults", "list", "check, subject, told, remedy of each"),
    ("steps", "object", "by pipeline and step: in, done, dropped, quarantined, pending"),
)
ANSWERS: Mapping[str, Sequence[Answer]] = {
    "search": SEARCH,
    "show": SHOW,
    "changes": CHANGES,
    "failures": FAILURES,
    "status": (
        answer(
            "one",
            ("home", "text", "the folder of the library"),
            ("pipeline", "text?", "the pipeline counted, null for all"),
            *ACCOUNT,
            ("files", "object", "distinct files by media type"),
            ("searchable", "integer", "documents in the index"),
            ("newest_input_at", "time?", "when something last came in"),
            ("queues", "object", "ready, in_hand, delayed, quarantined by subscription"),
            ("workers", "list", "who is at work: rows of `workers`, the newest sign first"),
        ),
    ),
    "audit": (answer("one", *AUDIT, ("deep*", "object", "with --deep: what was read of it")),),
    "repair": (
        answer(
            "with --yes: one",
            *AUDIT,
            ("acts", "integer", "acts of repair"),
            ("lost", "list", "what could not be had again"),
        ),
        answer("without --yes: one", *AUDIT, ("would", "object", "acts that would be done")),
    ),
    "embargo": (
        answer(
            "with --dry-run: one for each file",
            ("sha1hex", "text", "the file"),
            ("title", "text?", "that of its document"),
            ("captures", "integer", "places in WARCs that are not told of"),
            ("documents", "list", "ids of the documents that are taken out of the index"),
            ("collections", "list", "collections it is taken out of"),
        ),
        answer(
            "else: one for each file that is hidden, or was shown again",
            ("sha1hex", "text", "the file"),
            ("reason_class", "text", "why, as everybody is told"),
            ("note", "text", "who asked for it and how"),
            ("until", "time", "when it is to end"),
            ("made_by", "text", "who did it"),
            ("row_created", "time", "since when it is hidden"),
            ("lifting", "time?", "when it was hidden no more"),
            ("ended", "time?", "when it was back in its place"),
        ),
    ),
    "takedown": (
        answer(
            "with --dry-run: one for each file",
            ("sha1hex", "text", "the file"),
            ("captures", "integer", "places in WARCs that are forgotten"),
            ("own_records", "integer", "those in WARCs of ours"),
            ("warcs", "list", "name, captures, size_bytes, is_open of each of ours written anew"),
            ("rows", "object", "other rows that are removed, by table"),
            ("blobs", "list", "keys of the blobs that are removed"),
            ("table_rows", "integer", "rows of the journal that are removed"),
            ("documents", "list", "ids of the documents that are taken out of the index"),
            ("collections", "list", "collections it is taken out of"),
            ("books", "integer", "messages on the books that name it no more"),
            ("under_way", "integer", "those of them that have not ended"),
        ),
        answer(
            "else: one for each file that was taken down",
            ("sha1hex", "text", "the file"),
            ("reason_class", "text", "why, as everybody is told"),
            ("note", "text", "who asked for it and how"),
            ("made_by", "text", "who did it"),
            ("row_created", "time", "when it was refused from"),
            ("finished", "time?", "when everything was purged"),
        ),
    ),
    "verify": (
        answer(
            "one",
            ("file", "text", "the exported file"),
            ("file_is_whole", "boolean", "whether its bytes are those that were written"),
            ("result_is_same", "boolean?", "whether its search finds the same today"),
            ("then", "integer", "documents found when it was written"),
            ("now", "integer?", "documents found today"),
            ("now_is_more", "boolean", "whether so many were looked at, and there may be more"),
            (
                "compared",
                "object?",
                "how many documents are `unchanged`, `read_again`, shown by an `other_version`, `unfound`,"
                " `taken_down`, `under_embargo`, `gone`, `not_compared`, and `added` since; `listed` names 50"
                " of each",
            ),
        ),
    ),
    "doctor": (
        answer(
            "one",
            ("findings", "list", "what was looked at: name, fine, detail, warning"),
            ("settings", "object", "every setting in force, passwords left out"),
            ("home", "text", "the folder of the library"),
        ),
    ),
    "timetable": (
        answer(
            "one",
            ("tasks", "list", "what recurs: rows of the timetable"),
            ("now", "time", "the moment of the answer"),
        ),
    ),
    "reindex": (
        answer(
            "one",
            ("indexed", "integer", "documents put into the index"),
            ("removed", "integer", "documents taken out"),
            ("remade", "integer", "rows made again"),
            ("seconds", "number", "how long it took"),
        ),
    ),
}
