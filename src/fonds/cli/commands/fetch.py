"""`fonds fetch`: fetch pages and PDFs from the web, politely, and take them in."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from fonds.cli.context import App, command
from fonds.cli.sources.link_options import link_pipeline_option, tls_option
from fonds.cli.working import working_off
from fonds.model.link import TlsCheck
from fonds.ports import Source
from fonds.runtime.homelock import HomeLock, make_home
from fonds.runtime.intake import Entered, Intake

URLS_MAX = 1_000_000
WAIT_S = 15.0
"""How long links that were put off are waited for while there are no others: their times are less apart."""


@command("fetch")
@click.argument("urls", nargs=-1, metavar="[URL…|-]")
@click.option(
    "--from",
    "lists",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A file with one address a line; `-` is standard input.",
)
@click.option("--again", is_flag=True, help="Fetch what a list names anew, also if it was fetched.")
@tls_option
@click.option("--collection", metavar="NAME", help="Collection the documents belong to.")
@link_pipeline_option("news", "The pipeline the links go into.")
@click.option("--enter-only", is_flag=True, help="Enter the links and leave the work to workers.")
def fetch(
    app: App,
    urls: tuple[str, ...],
    lists: tuple[Path, ...],
    again: bool,
    tls: str,
    enter_only: bool,
    pipeline: str,
    **flags: Any,
) -> int:
    """Fetch pages and PDFs from the web and take them in.

    Each host is asked at a gentle pace and as its robots.txt allows; what is refused or not to be had is
    told with its reason. What is put off and not due soon waits for the next `fonds fetch`, or for
    `fonds run news`. A list is gone on with where it was left; addresses named here are always
    fetched. Exit code 0 when all is settled, 1 when something was quarantined or still waits, 130 when
    interrupted.

    \b
    fonds fetch https://example.org/story https://example.org/paper.pdf
    fonds fetch --from urls.txt --collection elections
    fonds fetch --from urls.txt --again --json
    grep -o "https://[^ ]*" notes.txt | fonds fetch -
    """
    settings = app.settings(pipeline=pipeline, **flags)
    sources = _sources(urls, lists, again, TlsCheck(tls), settings.collection)
    from fonds.wiring.backends import all_shared

    make_home(app.home)

    def feed(intake: Intake, entered: Entered) -> None:
        for source in sources:
            intake.run(source, entered)

    with HomeLock(app.home, shared=enter_only or all_shared(settings)) as lock:
        stores = app.stores(settings, make=True)
        nothing = "Nothing to fetch: no address was named that was not fetched; --again fetches a list anew."
        if enter_only:
            return working_off.enter_only(app, settings, stores, lock, feed)
        wait_s = max(WAIT_S, 2 * settings.fetch.host_gap_s)
        return working_off.work_off(app, settings, stores, lock, feed, nothing, wait_s)


def _sources(
    urls: tuple[str, ...], lists: tuple[Path, ...], again: bool, tls: TlsCheck, collection: str
) -> list[Source]:
    from fonds.sources.links import ListedLinks, NamedLinks

    now = datetime.now(UTC)
    named = [url for url in urls if url != "-"]
    if "-" in urls or Path("-") in lists:
        named += _standard_input()
    files = [one for one in lists if one != Path("-")]
    if not urls and not lists:
        raise click.UsageError("name an address, or a list of them with --from FILE")
    for one in files:
        if not one.is_file():
            raise click.UsageError(f"--from {one}: there is no such file")
    found: list[Source] = [NamedLinks(named, collection, now, tls)] if named else []
    return found + [ListedLinks(one.absolute(), collection, now, again, tls) for one in files]


def _standard_input() -> list[str]:
    found: list[str] = []
    for line in sys.stdin:
        text = line.strip()
        if text and not text.startswith("#"):
            found.append(text)
        if len(found) > URLS_MAX:
            raise click.UsageError(
                f"standard input has more than {URLS_MAX:,} addresses; write them to a file for --from"
            )
    return found
