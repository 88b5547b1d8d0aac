"""`fonds ingest` for pipelines that begin with links: files that list them, here and elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from fonds.cli.context import App, console, echo_json
from fonds.cli.inbox import absolute_paths, expand_names, tell_unread
from fonds.cli.working import working_off
from fonds.model.entry import Entry
from fonds.model.numbers import how_many
from fonds.model.rows import InputRow
from fonds.runtime.homelock import HomeLock, make_home
from fonds.runtime.intake import Entered, Intake
from fonds.sources.listed.choice import Choice

if TYPE_CHECKING:
    from fonds.config import Settings
    from fonds.ports import Records
    from fonds.sources.listed.shuffled import Limited

URLS_SHOWN = 5
NOTHING = "Nothing found: no link in these lists that was not taken in before."


def ingest_links(
    app: App,
    settings: Settings,
    names: Sequence[str],
    choice: Choice,
    shuffle: bool,
    dry_run: bool,
    enter_only: bool,
) -> int:
    """Take in the links of these lists; returns the exit code. Raises click.UsageError for what is none."""
    from fonds.wiring.backends import all_shared
    from fonds.wiring.links.link_inputs import link_lists

    found = expand_names(names, app.home)

    def source(home: Path, records: Records | None) -> Limited:
        return link_lists(found, home, settings, records, choice, shuffle=shuffle)

    if dry_run:
        there = app.home.is_dir()
        with TemporaryDirectory() as passing:
            records = app.stores(settings).records if there else None
            return _tell(app, source(Path(passing), records), records, settings.pipeline)
    make_home(app.home)
    with HomeLock(app.home, shared=enter_only or all_shared(settings)) as lock:
        stores = app.stores(settings, make=True)
        lists = source(app.home, stores.records)
        act = (
            working_off.enter_only if enter_only else partial(working_off.work_off, nothing=NOTHING)
        )
        feed = _feed(lists, absolute_paths(found))
        return tell_unread(lists.problems, act(app, settings, stores, lock, feed))


def _feed(source: Limited, named: Collection[str]) -> Callable[[Intake, Entered], None]:
    def feed(intake: Intake, entered: Entered) -> None:
        limited = replace(intake, stopping=lambda: intake.stopping() or source.is_done())
        limited.run(source, entered, named)

    return feed


def _tell(app: App, source: Limited, records: Records | None, pipeline: str) -> int:
    """Read the lists as if they were taken in, and tell what would enter; 1 when one cannot be read."""
    for found in source.inputs():
        begun = records.get(InputRow, [(found.input_id, pipeline)]) if records else []
        if begun and begun[0].finished and found.error is None:
            _tell_one(app, found, [], Counter(), is_known=True)
            continue
        tally: Counter[str] = Counter()
        urls: list[str] = []
        for one in source.entries(begun[0] if begun and found.error is None else found):
            if isinstance(one, Entry):
                urls.append(one.url)
            elif not isinstance(one, int):
                tally.update(one)
        _tell_one(app, found, urls, tally, is_known=False)
        if source.is_done():
            break
    return tell_unread(source.problems, 0)


def _tell_one(
    app: App, row: InputRow, urls: list[str], tally: Counter[str], *, is_known: bool
) -> None:
    if app.json:
        told = {"input": row.path, "links": len(urls), "others": tally, "error": row.error}
        echo_json({**told, "known": is_known, "first": urls[:URLS_SHOWN]})
        return
    others = "".join(f", {count:,} {why}" for why, count in sorted(tally.items()))
    told_links = (
        "it was taken in before"
        if is_known
        else f"{how_many(len(urls), 'link')} would enter{others}"
    )
    console().print(f"{row.path}: {told_links}", markup=False)
    for url in urls[:URLS_SHOWN]:
        console().print(f"  {url}", markup=False)
