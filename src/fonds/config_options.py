"""Groups of settings; each is a table of `fonds.toml`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import fields

from fonds import __version__

HIDDEN = {"hidden": True}
"""Marks a setting that may contain a password and is not shown with the others."""


def format_settings(settings: Struct) -> str:
    """Format settings as text, without those that may contain a password."""
    values = (
        (setting_field.name, setting_field.type, getattr(settings, setting_field.name))
        for setting_field in fields(settings)
    )
    parts = ", ".join(f"{name}={value!r}" for name, kind, value in values if not is_hidden(kind))
    return f"{type(settings).__name__}({parts})"


def is_hidden(kind: Any) -> bool:
    """Return whether a setting's type says that it may contain a password."""
    return any(meta.extra == HIDDEN for meta in getattr(kind, "__metadata__", ()))


class WorkSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Concurrency and retries."""

    children: Annotated[
        int, Meta(ge=0, description="Isolated readers at once; 0 means one a core")
    ] = 0
    workers: Annotated[
        int,
        Meta(
            ge=0,
            description="Processes `ingest`, `catchup` and retries may use; 0 means one a core",
        ),
    ] = 0
    worker_backlog: Annotated[
        int, Meta(ge=1, description="Waiting messages for which one more of these processes starts")
    ] = 500
    retries_max: Annotated[
        int, Meta(ge=0, description="Retries before a message is quarantined")
    ] = 10
    retry_first_s: Annotated[
        float, Meta(gt=0, description="Delay of the first retry, doubled each time")
    ] = 5.0
    retry_longest_s: Annotated[float, Meta(gt=0, description="Longest delay between retries")] = (
        3600.0
    )
    queue_high: Annotated[
        int, Meta(ge=1, description="Messages waiting at a step at which sources pause")
    ] = 20_000
    queue_low: Annotated[
        int, Meta(ge=0, description="Messages waiting at a step at which sources go on")
    ] = 10_000
    child_memory_bytes: Annotated[
        int,
        Meta(
            ge=2**28,
            description="Memory of one reader at most; that of a PDF has 640 MiB and eight times its size",
        ),
    ] = 2 * 1024**3


class PdfSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Reading of PDFs, and thumbnails."""

    max_bytes: Annotated[int, Meta(ge=1, description="Largest PDF read")] = 256 * 1024**2
    timeout_s: Annotated[float, Meta(gt=0, description="Longest time for one PDF")] = 60.0
    pages_max: Annotated[int, Meta(ge=1, description="Pages of a PDF whose text is read")] = 2_000
    pixels_max: Annotated[int, Meta(ge=10_000, description="Pixels rendered at most")] = 50_000_000
    stopped_days: Annotated[
        float, Meta(gt=0, description="Days before a PDF that stopped a reader is tried again")
    ] = 30.0
    more_thumbnails: Annotated[
        str, Meta(description="Thumbnails besides 180px-jpg, as 360px-jpg,360px-webp,180px-png")
    ] = ""


class GrobidSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """GROBID server for PDFs, if any."""

    url: Annotated[
        str,
        Meta(
            pattern=r"^$|^https?://[^?#\s]+$",
            description="GROBID server PDFs are sent to as well, as http://localhost:8070; empty means none",
            extra=HIDDEN,
        ),
    ] = ""
    at_once: Annotated[
        int, Meta(ge=1, le=100, description="PDFs sent to GROBID at once, by one process")
    ] = 8
    timeout_s: Annotated[
        float, Meta(gt=0, description="Longest time GROBID may take for one PDF")
    ] = 180.0
    tei_max_bytes: Annotated[
        int, Meta(ge=1, le=100 * 2**20, description="Longest TEI taken from GROBID")
    ] = 64 * 2**20

    __repr__ = format_settings


class PageSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Reading of pages."""

    max_bytes: Annotated[int, Meta(ge=1, description="Largest page body read")] = 10_000_000
    timeout_s: Annotated[float, Meta(gt=0, description="Longest time for one page")] = 20.0


class WarcSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """WARC files: ours, and those named by an index."""

    prefix: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
            description="Beginning of our WARC files' names, where the pipeline has none of its own",
        ),
    ] = "fonds"
    version: Annotated[
        str, Meta(pattern=r"^1\.[01]$", description="WARC version written, 1.1 or 1.0")
    ] = "1.1"
    form: Annotated[
        Literal["fonds", "mediacloud"],
        Meta(
            description="Form of what is written: the standard's, or WARC/1.0 as Media Cloud reads it"
        ),
    ] = "fonds"
    stories_max: Annotated[int, Meta(ge=1, description="Bodies in one WARC file")] = 5_000
    max_bytes: Annotated[
        int, Meta(ge=1, description="Size of a WARC at most, one long body alone excepted")
    ] = 1024**3
    waiting_max_bytes: Annotated[
        int, Meta(ge=0, description="Finished WARCs that may wait here for S3, in bytes")
    ] = 20 * 1024**3
    copy_bodies: Annotated[
        bool, Meta(description="Copy bodies out of other people's WARCs into ours")
    ] = False
    base: Annotated[
        str, Meta(description="Folder or URL where the WARCs of a CDX are", extra=HIDDEN)
    ] = ""

    __repr__ = format_settings


class RemoteSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Data on other machines, and access to it."""

    task_folder: Annotated[
        str, Meta(description="Folder whose files other programs' tasks may name; empty means none")
    ] = ""
    s3_url: Annotated[
        str,
        Meta(
            description="Server and keys of places in S3; empty means AWS by its environment",
            extra=HIDDEN,
        ),
    ] = ""
    replay_url: Annotated[
        str,
        Meta(
            pattern=r"^$|^https?://[^{}?#]+/[^{}?#]*\{timestamp\}[^{}?#]*\{url\}$",
            description="Web archive that replays captures, unrewritten; empty means none",
            extra=HIDDEN,
        ),
    ] = "https://web.archive.org/web/{timestamp}id_/{url}"
    petabox_url: Annotated[
        str,
        Meta(
            pattern=r"^$|^https?://[^{}?#]+/[^{}?#]*\{item\}[^{}?#]*/\{path\}$",
            description="Where the files of petabox items are; empty means nowhere",
            extra=HIDDEN,
        ),
    ] = "https://archive.org/serve/{item}/{path}"
    private_addresses: Annotated[
        bool, Meta(description="Allow fetching from private and loopback addresses")
    ] = False

    __repr__ = format_settings


class FetchSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Fetching: identity, rate limits and size limits."""

    agent: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z_-]{1,64}$",
            description="Our name in the User-Agent; robots.txt files know us by it",
        ),
    ] = "Fonds"
    contact: Annotated[
        str,
        Meta(
            pattern=r"^[\x21-\x7e]{0,200}$",
            description="Address of a page or mailbox for those whose sites we fetch, in the User-Agent",
        ),
    ] = ""
    host_gap_s: Annotated[
        float,
        Meta(
            ge=0, description="Least seconds between requests to a host; half of it for its domain"
        ),
    ] = 2.0
    gap_longest_s: Annotated[
        float, Meta(gt=0, description="Longest gap that refusals and slow answers lead to")
    ] = 3600.0
    at_once: Annotated[int, Meta(ge=1, le=1000, description="Requests under way at once")] = 64
    in_hand_max: Annotated[int, Meta(ge=1, description="Links that wait for their turn here")] = (
        1_000
    )
    patience_s: Annotated[
        float, Meta(gt=0, description="Seconds a link waits here before it goes back to the queue")
    ] = 60.0
    again_s: Annotated[
        float,
        Meta(
            gt=0,
            description="Seconds until a link is tried again whose server did not answer or had a fault",
        ),
    ] = 1800.0
    connect_s: Annotated[float, Meta(gt=0, description="Longest time to connect")] = 30.0
    total_s: Annotated[float, Meta(gt=0, description="Longest time for one request")] = 120.0
    max_bytes: Annotated[int, Meta(ge=1, description="Largest body fetched, as it is sent")] = (
        10_000_000
    )
    redirects_max: Annotated[int, Meta(ge=0, description="Redirects followed for one link")] = 10
    tdmrep: Annotated[
        bool,
        Meta(description="Ask each host that gave a page for its tdmrep.json, once in 24 hours"),
    ] = True
    ca_file: Annotated[
        str,
        Meta(description="File of the authorities whose certificates count; empty means Mozilla's"),
    ] = ""

    @property
    def user_agent(self) -> str:
        """Value of the User-Agent header: name, version and contact."""
        contact = f" (+{self.contact})" if self.contact else ""
        return f"{self.agent}/{__version__}{contact}"


class SourcesSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Followed sources, and the links they list."""

    poll_shortest_s: Annotated[
        float, Meta(ge=10, description="Seconds between two polls of a source at least")
    ] = 900.0
    poll_longest_s: Annotated[
        float, Meta(ge=10, description="Seconds between two polls of a source at most")
    ] = 86_400.0
    poll_api_s: Annotated[
        float, Meta(ge=10, description="Seconds between two polls of an rss-fetcher API")
    ] = 3_600.0
    poll_threads: Annotated[
        int, Meta(ge=1, le=100, description="Hosts whose sources are polled at once")
    ] = 8
    non_news: Annotated[
        str, Meta(description="Further domains whose links are refused, as example.org,example.com")
    ] = ""
    news: Annotated[
        str, Meta(description="Domains whose links are taken though they are listed as no news")
    ] = ""
    downloads_url: Annotated[
        str,
        Meta(
            pattern=r"^s3://[A-Za-z0-9][A-Za-z0-9._-]{1,254}(/[^/?#\s]+)*/?$",
            description="Where the pipeline `historical` finds downloads, each under its id",
        ),
    ] = "s3://mediacloud-downloads-backup/downloads"
    logins: Annotated[
        str,
        Meta(
            description="URLs with user and password of servers that ask for them, blanks between them",
            extra=HIDDEN,
        ),
    ] = ""

    __repr__ = format_settings


class AuditSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Recurring audit."""

    days: Annotated[
        int,
        Meta(
            ge=1, description="Days in which `fonds run` reads and hashes everything that is kept"
        ),
    ] = 30


class CollectionsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Collections, and the building of their clusterings."""

    prefix: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9._-]{0,100}$",
            description="What stands before the names of their tables, so that several homes share a server",
        ),
    ] = ""
    threads: Annotated[
        int,
        Meta(
            ge=0,
            description="Threads of a rebuild; 0: one a core, in `fonds run` half of them",
        ),
    ] = 0
    every_s: Annotated[
        int,
        Meta(
            ge=1,
            description="Seconds between two looks of `fonds run` at rules and rebuilds",
        ),
    ] = 60


class WebSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Web pages, and the metrics of workers."""

    host: Annotated[str, Meta(description="Address the web page and the metrics listen on")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Meta(ge=0, le=65535, description="Port the web page listens on")] = 8765
    replay_port: Annotated[
        int,
        Meta(
            ge=0,
            le=65535,
            description="Port captures are replayed on; 0 means the one behind `web.port`",
        ),
    ] = 0
    replay_url: Annotated[
        str,
        Meta(
            pattern=r"^$|^https?://[^/?#\s]+/?$",
            description="Origin browsers reach that port at, behind a proxy; empty means this host",
        ),
    ] = ""
    reading_needs_key: Annotated[
        bool, Meta(description="Whether whoever reads shows a key too, once one was made")
    ] = False
    takedown_needs_two: Annotated[
        bool,
        Meta(
            description="Whether a file is taken down on the pages only after somebody else put it under"
            " embargo"
        ),
    ] = False
    session_s: Annotated[
        int, Meta(ge=60, le=31_536_000, description="Seconds a browser stays signed in at most")
    ] = 43_200
    metrics_port: Annotated[
        int,
        Meta(ge=0, le=65535, description="Port of a worker's /metrics and /healthz; 0 means none"),
    ] = 0
