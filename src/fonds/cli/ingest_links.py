"""Ingest the links in lists, or preview them: `fonds ingest` with a pipeline that begins with
links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from fonds.cli import pipeline_run
from fonds.cli.context import App, echo_json, open_console
from fonds.cli.inputs import expand_names, report_unread, resolve_paths
from fonds.ingest.sources.link_sample import LinkSample
from fonds.model.encoding import pluralize
from fonds.model.entry import Entry
from fonds.model.rows import InputRow
from fonds.pipelines.runtime.intake import Intake, IntakeCounts
from fonds.stores.home_lock import HomeLock, create_home

if TYPE_CHECKING:
    from fonds.config import Settings
    from fonds.ingest.sources.link_lists import LimitedSource
    from fonds.ports import Records

URLS_MAX = 5
NOTHING_NEW_MESSAGE = "Nothing found: these lists contain no new links."


class ListPreview(msgspec.Struct, frozen=True):
    """JSON answer: the links of a list that `fonds ingest` would add."""

    input: Annotated[str, Meta(description="path or URL of the list")]
    links: Annotated[int, Meta(description="number of links that would enter")]
    others: Annotated[
        Mapping[str, int], Meta(description="number of links that would not enter, by reason")
    ]
    error: Annotated[str | None, Meta(description="why the list cannot be read to the end")]
    known: Annotated[bool, Meta(description="whether an earlier run ingested the list")]
    first: Annotated[Sequence[str], Meta(description="the first links that would enter")]


def ingest_links(
    app: App,
    settings: Settings,
    names: Sequence[str],
    sample: LinkSample,
    shuffle: bool,
    dry_run: bool,
    enter_only: bool,
) -> int:
    """Ingest the links of link lists, or preview them with `dry_run`. Return the exit code.

    - `names`: paths and URLs of the lists.
    - `sample`: decides which links of the lists are ingested.
    - `shuffle`: whether the links are ingested in random order.
    - `enter_only`: whether links are only put on the queue, because workers elsewhere fetch them.

    Raises click.UsageError for a list that does not exist.
    """
    # Imported here because the stores and the fetcher are slow to import.
    from fonds.wiring.backends import are_stores_shared
    from fonds.wiring.links import open_link_lists

    paths = expand_names(names, app.home)

    def open_source(home: Path, records: Records | None) -> LimitedSource:
        return open_link_lists(paths, home, settings, records, sample, shuffle=shuffle)

    if dry_run:
        has_home = app.home.is_dir()
        with TemporaryDirectory() as scratch_folder:
            records = app.open_stores(settings).records if has_home else None
            return _preview_lists(
                app, open_source(Path(scratch_folder), records), records, settings.pipeline
            )
    create_home(app.home)
    with HomeLock(app.home, is_shared=enter_only or are_stores_shared(settings)) as lock:
        stores = app.open_stores(settings, create=True)
        lists = open_source(app.home, stores.records)
        run_action = (
            pipeline_run.run_intake_only
            if enter_only
            else partial(pipeline_run.run_and_report, empty_message=NOTHING_NEW_MESSAGE)
        )
        feed = _build_feed(lists, resolve_paths(paths))
        return report_unread(lists.problems, run_action(app, settings, stores, lock, feed))


def _build_feed(
    source: LimitedSource, named_paths: Collection[str]
) -> Callable[[Intake, IntakeCounts], None]:
    def feed(intake: Intake, intake_counts: IntakeCounts) -> None:
        limited_intake = replace(intake, stopping=lambda: intake.stopping() or source.is_done())
        limited_intake.run(source, intake_counts, named_paths)

    return feed


def _preview_lists(app: App, source: LimitedSource, records: Records | None, pipeline: str) -> int:
    """Read link lists without ingesting them, and print which links would be added.

    Return the exit code: 1 if a list cannot be read, otherwise 0.
    """
    for row in source.iter_inputs():
        known_inputs = records.get(InputRow, [(row.input_id, pipeline)]) if records else []
        if known_inputs and known_inputs[0].finished and row.error is None:
            _preview_list(app, row, [], Counter(), is_known=True)
            continue
        tally: Counter[str] = Counter()
        urls: list[str] = []
        for entry in source.iter_entries(
            known_inputs[0] if known_inputs and row.error is None else row
        ):
            if isinstance(entry, Entry):
                urls.append(entry.url)
            elif not isinstance(entry, int):
                tally.update(entry)
        _preview_list(app, row, urls, tally, is_known=False)
        if source.is_done():
            break
    return report_unread(source.problems, 0)


def _preview_list(
    app: App, row: InputRow, urls: list[str], tally: Counter[str], *, is_known: bool
) -> None:
    if app.is_json:
        echo_json(ListPreview(row.path, len(urls), tally, row.error, is_known, urls[:URLS_MAX]))
        return
    other_counts = "".join(f", {count:,} {reason}" for reason, count in sorted(tally.items()))
    summary = (
        "already ingested"
        if is_known
        else f"{pluralize(len(urls), 'link')} would enter{other_counts}"
    )
    open_console().print(f"{row.path}: {summary}", markup=False)
    for url in urls[:URLS_MAX]:
        open_console().print(f"  {url}", markup=False)
