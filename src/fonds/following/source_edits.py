"""Add, pause, edit and remove followed sources, singly or from OPML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha1

from fonds.following.backfill import build_immediate_columns
from fonds.following.health import TEXT_MAX_CHARS, compute_health_after_poll
from fonds.following.link_rules import LinkRules
from fonds.following.listings.listing import FeedOutline
from fonds.following.source_list import build_links_filter
from fonds.isolation.process_identity import is_process_gone
from fonds.model.errors import ConfigurationError
from fonds.model.rows import InputRow, SourceRow
from fonds.model.secrets import has_secret, redact_secrets
from fonds.model.suggestions import find_nearest_name
from fonds.ports import Records

KINDS = ("feed", "page", "rss-fetcher")
ID_CHARS = 12
_PERMISSIVE_RULES = LinkRules(non_news=frozenset(), allows_private_addresses=True)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Options for sources to add. Each field sets the column of `sources` with the same name."""

    kind: str = "feed"
    title: str = ""
    folder: str = ""
    collection: str = "default"
    pipeline: str = "queue-fetcher"
    tls: str = "full"


def compute_source_id(url: str) -> str:
    """Return the id of the source at a URL, computed from the URL alone."""
    return sha1(url.encode("utf-8", "replace")).hexdigest()[:ID_CHARS]  # noqa: S324 (a key, not security)


def build_source(url: str, options: SourceOptions, now: datetime) -> SourceRow:
    """Build the database row of a new source. Its first poll is due now.

    Raises ConfigurationError if the URL is invalid or contains a password.
    """
    url = url.strip()
    if has_secret(url):
        raise ConfigurationError(
            f"{redact_secrets(url)}: set the user and password in the setting "
            "sources.logins, not in the URL"
        )
    refusal = _PERMISSIVE_RULES.find_refusal(url)
    if refusal is not None:
        raise ConfigurationError(f"not a valid source: {refusal[1]}")
    return SourceRow(
        source_id=compute_source_id(url),
        url=url,
        kind=options.kind,
        state="active",
        title=options.title,
        folder=options.folder,
        collection=options.collection,
        pipeline=options.pipeline,
        tls=options.tls,
        added_at=now,
        next_poll=now,
    )


def add_sources(records: Records, rows: Sequence[SourceRow]) -> list[SourceRow]:
    """Add sources to the database, and return the rows of those that were added.

    Sources that already exist stay unchanged. A source that was removed earlier continues its poll
    numbers, because its links are recorded under these numbers.
    """
    ids = [row.source_id for row in rows]
    known_ids = {row.source_id for row in records.get(SourceRow, ids)} if ids else set()
    known_urls = {row.url for row in records.find(SourceRow, {"url": [row.url for row in rows]})}
    new_rows = {
        row.source_id: replace(row, polls=_find_last_poll(records, row.source_id))
        for row in rows
        if row.source_id not in known_ids and row.url not in known_urls
    }
    records.put(list(new_rows.values()), replace=False)
    return list(new_rows.values())


def _find_last_poll(records: Records, source_id: str) -> int:
    """Return the number of the last recorded poll of a source; 0 if none is recorded."""
    last = next(
        iter(
            records.find(InputRow, build_links_filter(source_id), order=("-input_id",), count_max=1)
        ),
        None,
    )
    return 0 if last is None else int(last.input_id.rpartition(".")[2])


def find_source(records: Records, name: str) -> SourceRow:
    """Find a source by its id, the beginning of its id, or its URL.

    Raises ConfigurationError if several ids have this beginning, or if no source matches. Then the
    message suggests the most similar URL or id.
    """
    by_url = next(iter(records.find(SourceRow, {"url": name}, count_max=1)), None)
    if by_url is not None:
        return by_url
    rows = list(records.find(SourceRow))
    fitting = [row for row in rows if len(name) >= 4 and row.source_id.startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise ConfigurationError(
            f"{len(fitting)} sources have an id that starts with {name}. Give more characters"
        )
    moved_row = next((row for row in rows if row.moved_from == name), None)
    if moved_row is not None:
        return moved_row
    nearest = find_nearest_name(
        name, [name_or_id for row in rows for name_or_id in (row.url, row.source_id)]
    )
    hint = f" Did you mean {nearest}?" if nearest else " List them with `fonds sources list`."
    raise ConfigurationError(f"no source named {redact_secrets(name)!r}.{hint}")


def set_state(records: Records, row: SourceRow, state: str, now: datetime) -> None:
    """Pause or resume a source. Resuming resets its failures and makes it due now.

    A running poll continues.
    """
    values: dict[str, object] = {"state": state}
    if state == "active":
        source_health = compute_health_after_poll(replace(row, failures=0), now)
        values |= {"failures": 0, "failing_since": None, "health": str(source_health)}
        if _set_due(records, row, values, now):
            return
    records.change(SourceRow, [row.source_id], values)


def poll_soon(records: Records, row: SourceRow, now: datetime) -> None:
    """Make a source due now.

    Raises ConfigurationError, without changing anything, if the source is paused, gone or being
    polled.
    """
    if row.state != "active":
        raise ConfigurationError(f"{row.url} is {row.state}. Resume it first")
    if not _set_due(records, row, {}, now):
        raise ConfigurationError(
            f"{row.url} is being polled, or its last poll was interrupted a moment ago"
        )


def _set_due(records: Records, row: SourceRow, values: Mapping[str, object], now: datetime) -> bool:
    """Change columns of a source and make its next poll due now. Return whether the row was
    changed.

    Nothing is changed while a poll is running, or if the row has changed in the meantime.
    """
    if row.lease_holder is not None and not is_process_gone(row.lease_holder):
        return False
    expected_columns = {
        "lease_version": row.lease_version,
        "polling": row.polling,
        "backfill_changes": row.backfill_changes,
    }
    changed_columns = {**values, **build_immediate_columns(row), "next_poll": now}
    return bool(records.change(SourceRow, [row.source_id], changed_columns, expected_columns))


def edit_source(
    records: Records,
    row: SourceRow,
    *,
    title: str | None = None,
    folder: str | None = None,
    collection: str | None = None,
) -> None:
    """Change the title, folder or collection of a source. None keeps the current value.

    Links that were found earlier keep their collection. Raises ConfigurationError if a value is too
    long or the collection is "".
    """
    texts = {"title": title, "folder": folder, "collection": collection}
    values = {name: " ".join(text.split()) for name, text in texts.items() if text is not None}
    for name, text in values.items():
        if len(text) > TEXT_MAX_CHARS:
            raise ConfigurationError(f"a {name} can have at most {TEXT_MAX_CHARS} characters")
    if values.get("collection") == "":
        raise ConfigurationError("a source needs a collection for its links")
    if values:
        records.change(SourceRow, [row.source_id], values)


def build_outlines(rows: Iterable[SourceRow]) -> list[FeedOutline]:
    """Return those of the sources that are feeds, as entries of an OPML list."""
    return [FeedOutline(row.url, row.title, row.folder) for row in rows if row.kind == "feed"]


def build_sources(
    outlines: Iterable[FeedOutline], options: SourceOptions, now: datetime
) -> tuple[list[SourceRow], Mapping[str, str]]:
    """Build database rows of sources from the feeds in an OPML list.

    Return the rows, and a sentence for each feed that cannot be a source, by the feed's URL.
    """
    rows: list[SourceRow] = []
    refusal_by_url: dict[str, str] = {}
    for outline in outlines:
        outline_options = SourceOptions(
            "feed", outline.title, outline.folder, options.collection, options.pipeline, options.tls
        )
        try:
            rows.append(build_source(outline.url, outline_options, now))
        except ConfigurationError as error:
            refusal_by_url[redact_secrets(outline.url)] = str(error)
    return rows, refusal_by_url
