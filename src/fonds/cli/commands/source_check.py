"""`fonds sources check`: ask a source now, and tell what it lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import click

from fonds.cli.context import App, command, console, echo_json
from fonds.cli.names import Name
from fonds.model.errors import ConfigurationError, PermanentError, TransientError
from fonds.model.numbers import how_many
from fonds.sources.following.editing import KINDS, Wanted, found, new_source

URLS_SHOWN = 5


@command("check")
@click.argument("names", nargs=-1, required=True, metavar="SOURCE|URL…")
@click.option("--kind", type=Name("kind", KINDS), default="feed", show_default=True)
def check(app: App, names: tuple[str, ...], kind: str) -> int:
    """Ask sources now and tell what they list; nothing is entered or written. Any URL may be tried.

    Exit code 1 when one cannot be read.

    \b
    fonds sources check https://example.org/feed.xml
    fonds sources check --kind page https://example.org/politics/
    """
    failed = 0
    with _looking(app) as look:
        for name in names:
            try:
                facts = look(name, kind)
            except (TransientError, PermanentError) as error:
                facts, failed = {"source": name, "error": str(error)}, failed + 1
            if app.json:
                echo_json(facts)
            else:
                _print_check(facts)
    return int(bool(failed))


@contextmanager
def _looking(app: App) -> Iterator[Callable[[str, str], dict[str, Any]]]:
    """What looks at one source; it is read in a process with limits, as when it is followed."""
    from fonds.isolation import ChildPool
    from fonds.wiring.links.following import look_at, passing_records

    settings = app.settings()
    rows = app.stores(settings).records if app.home.is_dir() else None
    pool = ChildPool(1, required=settings.isolation == "required")

    def look(name: str, kind: str) -> dict[str, Any]:
        try:
            row = found(rows, name) if rows is not None else None
        except ConfigurationError:
            if "://" not in name:
                raise
            row = None
        row = row or new_source(name, Wanted(kind), datetime.now(UTC))
        return look_at(row, pool, settings, rows or passing)

    with passing_records() as passing:
        try:
            yield look
        finally:
            pool.close()


def _print_check(facts: dict[str, Any]) -> None:
    screen = console()
    if "error" in facts:
        screen.print(f"{facts['source']}: {facts['error']}", markup=False)
        return
    refused = "".join(f", {count} {why}" for why, count in facts["refused"].items())
    screen.print(
        f"{facts['source']}: {facts['kind']}, {how_many(facts['listed'], 'link')}{refused}",
        markup=False,
    )
    for link in facts["links"][:URLS_SHOWN]:
        screen.print(f"  {link['link']}  {link['title'] or ''}".rstrip(), markup=False)
    if len(facts["links"]) > URLS_SHOWN:
        screen.print(f"  and {len(facts['links']) - URLS_SHOWN:,} more")
    hints = [f"{name} {value}" for name, value in facts["hints"].items()]
    told = {
        "moved to": facts["moved_to"],
        "problem": facts["problem"],
        "asks for": ", ".join(hints),
        "older": _older(facts),
    }
    for name, value in told.items():
        if value:
            screen.print(f"  {name}: {value}", markup=False)


def _older(facts: dict[str, Any]) -> str:
    """What `fonds sources backfill` would go on with."""
    if facts["sitemaps"]:
        return f"the {facts['sitemaps']:,} sitemaps of its index"
    return facts["older"] or "it names no older page"
