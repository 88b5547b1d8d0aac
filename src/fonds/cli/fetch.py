"""`fonds fetch`: fetch pages and PDFs from the web and ingest them."""

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
"""Seconds to wait for delayed links when no other links are left; at least twice the minimum delay
of a host (`fetch.host_gap_s`).
"""

NOTHING_TO_FETCH = (
    "Nothing to fetch: all these URLs were fetched before. Use --again to fetch a list again."
)


@command(
    "fetch",
    answers={
        "one, when the work is done": pipeline_run.RunAnswer,
        "one, with --enter-only": pipeline_run.EnteredAnswer,
    },
)
@click.argument("urls", nargs=-1, metavar="[URL…|-]")
@click.option(
    "--from",
    "lists",
    multiple=True,
    metavar="FILE|URL",
    help=(
        "List of URLs, one per line, or a table with a header. May be gzipped. A path, "
        "an http(s) URL or an S3 URL; `-` reads standard input."
    ),
)
@click.option(
    "--again", is_flag=True, help="Fetch all URLs of a list, even if they were fetched before."
)
@tls_option
@click.option("--collection", metavar="NAME", help="Collection of the documents.")
@build_pipeline_option("news", "Pipeline that receives the links.")
@click.option(
    "--enter-only", is_flag=True, help="Enter the links and leave the work to the workers."
)
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
    """Fetch pages and PDFs from the web into the library.

    Hosts are fetched slowly and as their robots.txt allows. Every URL that is refused or fails is
    shown with its reason. A URL that is postponed for long waits for the next `fonds fetch` or
    `fonds run news`. Its reason and next attempt are shown.

    A list resumes where it was left. URLs given on the command line are always fetched, unless they
    are already waiting. The exit code is 0 if everything is done, 1 if something was quarantined or
    is still waiting, and 130 if interrupted.

    \b
    fonds fetch https://example.org/story https://example.org/paper.pdf
    fonds fetch --from urls.txt --collection elections
    fonds fetch --from urls.txt --again --json
    grep -o "https://[^ ]*" notes.txt | fonds fetch -
    """
    if not urls and not lists:
        raise click.UsageError("Name a URL, or a list with --from FILE.")
    named_urls, files = _collect_urls(urls, lists), [path for path in lists if path != "-"]
    settings = app.load_settings(pipeline=pipeline, **flags)
    return _fetch(app, settings, named_urls, files, again, TlsCheck(tls), enter_only)


def _fetch(
    app: App,
    settings: Settings,
    urls: list[str],
    lists: list[str],
    refetches: bool,
    tls: TlsCheck,
    enter_only: bool,
) -> int:
    # Imported here because the fetcher and the stores are slow to import.
    from fonds.ingest.sources.named_links import NamedLinkSource
    from fonds.wiring.backends import are_stores_shared
    from fonds.wiring.links import open_named_lists

    files = expand_names(lists, app.home)
    create_home(app.home)
    with HomeLock(app.home, is_shared=enter_only or are_stores_shared(settings)) as lock:
        stores = app.open_stores(settings, create=True)
        normalized_urls = [normalize_requested_url(url) for url in urls]
        pending_rows = list_pending_links(stores.records, settings.pipeline, normalized_urls)
        waiting_urls = {row.url for row in pending_rows}
        new_urls = [url for url in urls if normalize_requested_url(url) not in waiting_urls]
        named_source = NamedLinkSource(new_urls, settings.collection, datetime.now(UTC), tls)
        list_source = open_named_lists(
            files, app.home, settings, stores.records, refetches=refetches, tls=tls
        )

        def feed(intake: Intake, intake_counts: IntakeCounts) -> None:
            intake.run(named_source, intake_counts)
            intake.run(list_source, intake_counts, resolve_paths(files))

        if enter_only:
            code = pipeline_run.run_intake_only(app, settings, stores, lock, feed)
        else:
            wait_s = max(WAIT_S, 2 * settings.fetch.host_gap_s)
            code = pipeline_run.run_and_report(
                app, settings, stores, lock, feed, NOTHING_TO_FETCH, wait_s, urls=normalized_urls
            )
        return report_unread(list_source.problems, code)


def _collect_urls(urls: tuple[str, ...], lists: tuple[str, ...]) -> list[str]:
    """Return the URLs on the command line, and those of standard input if `-` is given.

    Raises click.UsageError if standard input has more than 1,000,000 URLs.
    """
    named_urls = [url for url in urls if url != "-"]
    return named_urls + (_read_standard_input() if "-" in urls or "-" in lists else [])


def _read_standard_input() -> list[str]:
    urls: list[str] = []
    for line in sys.stdin:
        text = line.strip()
        if text and not text.startswith("#"):
            urls.append(text)
        if len(urls) > URLS_MAX:
            raise click.UsageError(
                f"Standard input has more than {URLS_MAX:,} URLs. Write them to a file "
                "and use --from FILE."
            )
    return urls
