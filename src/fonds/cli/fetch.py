"""`fonds fetch`: fetch pages and PDFs from the web, politely, and take them in."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from fonds.cli import pipeline_run
from fonds.cli.context import App, command
from fonds.cli.inputs import expand_names, report_unread, resolve_paths
from fonds.cli.link_options import (
    build_pipeline_option,
    tls_option,
)
from fonds.failures.retries import list_pending_links
from fonds.following.link_rules import normalize_requested_url
from fonds.model.entry import TlsCheck
from fonds.pipelines.runtime.intake import Intake, IntakeCounts
from fonds.stores.home_lock import HomeLock, create_home

if TYPE_CHECKING:
    from fonds.config import Settings

URLS_MAX = 1_000_000
WAIT_S = 15.0
"""How long links that were put off are waited for while there are no others: their times are less apart."""

NOTHING_TO_FETCH = (
    "Nothing to fetch: no address was named that was not fetched; --again fetches a list anew."
)


@command("fetch")
@click.argument("urls", nargs=-1, metavar="[URL…|-]")
@click.option(
    "--from",
    "lists",
    multiple=True,
    metavar="FILE|URL",
    help="A list of addresses: one a line, or a table with a header; packed with gzip or not; here, behind "
    "http(s) or in S3. `-` is standard input.",
)
@click.option("--again", is_flag=True, help="Fetch what a list names anew, also if it was fetched.")
@tls_option
@click.option("--collection", metavar="NAME", help="Collection the documents belong to.")
@build_pipeline_option("news", "The pipeline the links go into.")
@click.option("--enter-only", is_flag=True, help="Enter the links and leave the work to workers.")
def fetch(
    app: App,
    urls: tuple[str, ...],
    lists: tuple[str, ...],
    again: bool,
    tls: str,
    enter_only: bool,
    pipeline: str,
    **flags: Any,
) -> int:
    """Fetch pages and PDFs from the web and take them in.

    Each host is asked at a gentle pace and as its robots.txt allows; what is refused or not to be had is
    told with its reason. What is put off and not due soon waits for the next `fonds fetch`, or for
    `fonds run news`; its reason and its next attempt are shown. A list is gone on with where it was left;
    addresses named here are always fetched, unless they wait already. Exit code 0 when all is settled, 1
    when something was quarantined or still waits, 130 when interrupted.

    \b
    fonds fetch https://example.org/story https://example.org/paper.pdf
    fonds fetch --from urls.txt --collection elections
    fonds fetch --from urls.txt --again --json
    grep -o "https://[^ ]*" notes.txt | fonds fetch -
    """
    if not urls and not lists:
        raise click.UsageError("name an address, or a list of them with --from FILE")
    named, files = _collect_urls(urls, lists), [one for one in lists if one != "-"]
    settings = app.load_settings(pipeline=pipeline, **flags)
    return _fetch(app, settings, named, files, again, TlsCheck(tls), enter_only)


def _fetch(
    app: App,
    settings: Settings,
    urls: list[str],
    lists: list[str],
    refetches: bool,
    tls: TlsCheck,
    enter_only: bool,
) -> int:
    from fonds.ingest.sources.link_lists import NamedLinkSource
    from fonds.wiring.links import open_named_lists
    from fonds.wiring.stores import are_stores_shared

    files = expand_names(lists, app.home)
    create_home(app.home)
    with HomeLock(app.home, shared=enter_only or are_stores_shared(settings)) as lock:
        stores = app.open_stores(settings, create=True)
        addresses = [normalize_requested_url(url) for url in urls]
        pending = list_pending_links(stores.records, settings.pipeline, addresses)
        waiting = {row.url for row in pending}
        new = [url for url in urls if normalize_requested_url(url) not in waiting]
        named = NamedLinkSource(new, settings.collection, datetime.now(UTC), tls)
        listed = open_named_lists(
            files, app.home, settings, stores.records, refetches=refetches, tls=tls
        )

        def feed(intake: Intake, entered: IntakeCounts) -> None:
            intake.run(named, entered)
            intake.run(listed, entered, resolve_paths(files))

        if enter_only:
            code = pipeline_run.run_intake_only(app, settings, stores, lock, feed)
        else:
            wait_s = max(WAIT_S, 2 * settings.fetch.host_gap_s)
            code = pipeline_run.run_and_report(
                app, settings, stores, lock, feed, NOTHING_TO_FETCH, wait_s, urls=addresses
            )
        return report_unread(listed.problems, code)


def _collect_urls(urls: tuple[str, ...], lists: tuple[str, ...]) -> list[str]:
    """Addresses of the command line, and of standard input where `-` stands for it."""
    named = [url for url in urls if url != "-"]
    return named + (_read_standard_input() if "-" in urls or "-" in lists else [])


def _read_standard_input() -> list[str]:
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
