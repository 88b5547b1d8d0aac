"""Groups of settings. Each group is a table of the file `fonds.toml`, such as `[fetch]`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import fields

from fonds import __version__

HIDDEN = {"hidden": True}
"""Metadata of a setting that may contain a password. `format_settings` leaves such settings out."""


def format_settings(settings: Struct) -> str:
    """Format a group of settings as text for display, without settings that may contain a
    password.
    """
    values = (
        (setting_field.name, setting_field.type, getattr(settings, setting_field.name))
        for setting_field in fields(settings)
    )
    parts = ", ".join(f"{name}={value!r}" for name, kind, value in values if not is_hidden(kind))
    return f"{type(settings).__name__}({parts})"


def is_hidden(kind: Any) -> bool:
    """Return whether the type of a setting is marked as one that may contain a password."""
    return any(meta.extra == HIDDEN for meta in getattr(kind, "__metadata__", ()))


class WorkSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for concurrency, retries and the memory of isolated processes."""

    children: Annotated[
        int, Meta(ge=0, description="Maximum number of isolated readers; 0 means one per core")
    ] = 0
    workers: Annotated[
        int,
        Meta(
            ge=0,
            description=(
                "Maximum number of processes for `ingest`, `catchup` and "
                "retries; 0 means one per core"
            ),
        ),
    ] = 0
    worker_backlog: Annotated[
        int,
        Meta(ge=1, description="Number of waiting messages for which one more process starts"),
    ] = 500
    retries_max: Annotated[
        int, Meta(ge=0, description="Maximum number of retries before a message is quarantined")
    ] = 10
    retry_first_s: Annotated[
        float, Meta(gt=0, description="Delay of the first retry; it doubles each time")
    ] = 5.0
    retry_longest_s: Annotated[float, Meta(gt=0, description="Maximum delay between retries")] = (
        3600.0
    )
    queue_high: Annotated[
        int, Meta(ge=1, description="Number of messages waiting at a step at which sources pause")
    ] = 20_000
    queue_low: Annotated[
        int,
        Meta(ge=0, description="Number of messages waiting at a step at which sources resume"),
    ] = 10_000
    child_memory_bytes: Annotated[
        int,
        Meta(
            ge=2**28,
            description=(
                "Memory limit of one reader; for a PDF, 640 MiB and eight times its size are added"
            ),
        ),
    ] = 2 * 1024**3


class PdfSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for reading PDFs and making thumbnails."""

    max_bytes: Annotated[int, Meta(ge=1, description="Maximum size of a PDF")] = 256 * 1024**2
    timeout_s: Annotated[float, Meta(gt=0, description="Time limit for one PDF")] = 60.0
    pages_max: Annotated[
        int, Meta(ge=1, description="Maximum number of pages whose text is extracted")
    ] = 2_000
    pixels_max: Annotated[
        int, Meta(ge=10_000, description="Maximum number of pixels of a rendered page")
    ] = 50_000_000
    stopped_days: Annotated[
        float, Meta(gt=0, description="Days before a PDF that stopped a reader is retried")
    ] = 30.0
    more_thumbnails: Annotated[
        str,
        Meta(
            description=(
                "Thumbnails in addition to 180px-jpg, such as 360px-jpg,360px-webp,180px-png"
            )
        ),
    ] = ""


class GrobidSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for the GROBID server that processes PDFs. If `url` is empty, no server is used."""

    url: Annotated[
        str,
        Meta(
            pattern=r"^$|^https?://[^?#\s]+$",
            description=(
                "GROBID server that also processes PDFs, such as http://localhost:8070; empty: none"
            ),
            extra=HIDDEN,
        ),
    ] = ""
    at_once: Annotated[
        int, Meta(ge=1, le=100, description="Concurrent requests of one process to GROBID")
    ] = 8
    timeout_s: Annotated[float, Meta(gt=0, description="Time limit of GROBID for one PDF")] = 180.0
    tei_max_bytes: Annotated[
        int, Meta(ge=1, le=100 * 2**20, description="Maximum size of TEI from GROBID")
    ] = 64 * 2**20

    __repr__ = format_settings


class PageSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for reading web pages."""

    max_bytes: Annotated[int, Meta(ge=1, description="Maximum size of a page body")] = 10_000_000
    timeout_s: Annotated[float, Meta(gt=0, description="Time limit for one page")] = 20.0


class WarcSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for the WARC files that Fonds writes, and for the WARC files that a CDX index
    names.
    """

    prefix: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
            description="Prefix of WARC file names, unless the pipeline has its own",
        ),
    ] = "fonds"
    version: Annotated[
        str, Meta(pattern=r"^1\.[01]$", description="WARC version of new files: 1.1 or 1.0")
    ] = "1.1"
    form: Annotated[
        Literal["fonds", "mediacloud"],
        Meta(
            description=(
                "Format of new WARC files: the standard, or WARC/1.0 as Media Cloud reads it"
            )
        ),
    ] = "fonds"
    stories_max: Annotated[
        int, Meta(ge=1, description="Maximum number of bodies per WARC file")
    ] = 5_000
    max_bytes: Annotated[
        int,
        Meta(
            ge=1, description=("Maximum size of a WARC file; only a single long body may exceed it")
        ),
    ] = 1024**3
    waiting_max_bytes: Annotated[
        int,
        Meta(ge=0, description="Maximum size of finished WARC files that wait for upload to S3"),
    ] = 20 * 1024**3
    copy_bodies: Annotated[
        bool, Meta(description="Copy bodies from other WARCs into the library's own")
    ] = False
    base: Annotated[
        str, Meta(description="Folder or URL of the WARCs named by a CDX", extra=HIDDEN)
    ] = ""

    __repr__ = format_settings


class RemoteSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for access to data on other machines: S3, web archives, petabox items and work
    objects.
    """

    task_folder: Annotated[
        str, Meta(description="Folder whose files tasks of other programs may name; empty: none")
    ] = ""
    s3_url: Annotated[
        str,
        Meta(
            description=(
                "Server and keys for S3 URLs; empty: AWS with the keys of the environment"
            ),
            extra=HIDDEN,
        ),
    ] = ""
    replay_url: Annotated[
        str,
        Meta(
            pattern=r"^$|^https?://[^{}?#]+/[^{}?#]*\{timestamp\}[^{}?#]*\{url\}$",
            description="Web archive that replays captures unchanged; empty: none",
            extra=HIDDEN,
        ),
    ] = "https://web.archive.org/web/{timestamp}id_/{url}"
    petabox_url: Annotated[
        str,
        Meta(
            pattern=r"^$|^https?://[^{}?#]+/[^{}?#]*\{item\}[^{}?#]*/\{path\}$",
            description="Location of files of petabox items; empty: none",
            extra=HIDDEN,
        ),
    ] = "https://archive.org/serve/{item}/{path}"
    private_addresses: Annotated[
        bool, Meta(description="Allow requests to private and loopback addresses")
    ] = False

    __repr__ = format_settings


class FetchSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for fetching pages: identity, rate limits, timeouts and size limits."""

    agent: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z_-]{1,64}$",
            description="Name in the User-Agent header, which robots.txt files can refer to",
        ),
    ] = "Fonds"
    contact: Annotated[
        str,
        Meta(
            pattern=r"^[\x21-\x7e]{0,200}$",
            description=(
                "Contact URL or email address in the User-Agent header, for "
                "operators of fetched sites"
            ),
        ),
    ] = ""
    host_gap_s: Annotated[
        float,
        Meta(
            ge=0,
            description="Minimum delay between requests to a host; half of it for its domain",
        ),
    ] = 2.0
    gap_longest_s: Annotated[
        float, Meta(gt=0, description="Maximum delay after refusals and slow responses")
    ] = 3600.0
    at_once: Annotated[
        int, Meta(ge=1, le=1000, description="Maximum number of concurrent requests")
    ] = 64
    in_hand_max: Annotated[
        int, Meta(ge=1, description="Maximum number of links waiting for their host's delay")
    ] = 1_000
    patience_s: Annotated[
        float, Meta(gt=0, description="Time a link waits here before it returns to the queue")
    ] = 60.0
    again_s: Annotated[
        float,
        Meta(
            gt=0,
            description=(
                "Delay before a link is retried after its server failed or did not respond"
            ),
        ),
    ] = 1800.0
    connect_s: Annotated[float, Meta(gt=0, description="Timeout for connecting")] = 30.0
    total_s: Annotated[float, Meta(gt=0, description="Timeout for one request")] = 120.0
    max_bytes: Annotated[
        int, Meta(ge=1, description="Maximum size of a fetched body as transferred")
    ] = 10_000_000
    redirects_max: Annotated[
        int, Meta(ge=0, description="Maximum number of redirects per link")
    ] = 10
    tdmrep: Annotated[
        bool,
        Meta(
            description=(
                "Request tdmrep.json from each host that returned a page, once in 24 hours"
            )
        ),
    ] = True
    ca_file: Annotated[
        str,
        Meta(description="File with trusted certificate authorities; empty: Mozilla's list"),
    ] = ""

    @property
    def user_agent(self) -> str:
        """Value of the User-Agent header: name and version of the fetcher, and its contact if
        set.
        """
        contact = f" (+{self.contact})" if self.contact else ""
        return f"{self.agent}/{__version__}{contact}"


class SourcesSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for followed sources, such as feeds and sitemaps, and for the links that they
    list.
    """

    poll_shortest_s: Annotated[
        float, Meta(ge=10, description="Minimum time between two polls of a source")
    ] = 900.0
    poll_longest_s: Annotated[
        float, Meta(ge=10, description="Maximum time between two polls of a source")
    ] = 86_400.0
    poll_api_s: Annotated[
        float, Meta(ge=10, description="Time between two polls of an rss-fetcher API")
    ] = 3_600.0
    poll_threads: Annotated[
        int,
        Meta(ge=1, le=100, description="Number of hosts whose sources are polled concurrently"),
    ] = 8
    non_news: Annotated[
        str,
        Meta(
            description=(
                "Additional domains whose links are refused, such as example.org,example.com"
            )
        ),
    ] = ""
    news: Annotated[
        str,
        Meta(description="Domains whose links are allowed although they are listed as not news"),
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
            description=(
                "URLs with user and password of servers that require them, separated by spaces"
            ),
            extra=HIDDEN,
        ),
    ] = ""

    __repr__ = format_settings


class AuditSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for the recurring audit of all stored data."""

    days: Annotated[
        int,
        Meta(
            ge=1,
            description="Number of days in which `fonds run` reads and hashes all stored data",
        ),
    ] = 30


class CollectionsSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for collections of documents, and for building their clusterings."""

    prefix: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9._-]{0,100}$",
            description=(
                "Prefix of their table names, so that several libraries can share a server"
            ),
        ),
    ] = ""
    threads: Annotated[
        int,
        Meta(
            ge=0,
            description="Threads of a rebuild; 0: one per core, or half of them in `fonds run`",
        ),
    ] = 0
    every_s: Annotated[
        int,
        Meta(
            ge=1,
            description="Interval at which `fonds run` checks rules and rebuilds",
        ),
    ] = 60


class WebSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for the web pages, the replay of captures, and the metrics of workers."""

    host: Annotated[str, Meta(description="Address of the web server and the metrics")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Meta(ge=0, le=65535, description="Port of the web pages")] = 8765
    replay_port: Annotated[
        int,
        Meta(
            ge=0,
            le=65535,
            description="Port for replay of captures; 0 means `web.port` + 1",
        ),
    ] = 0
    replay_url: Annotated[
        str,
        Meta(
            pattern=r"^$|^https?://[^/?#\s]+/?$",
            description="Public origin of the replay port, behind a proxy; empty: this host",
        ),
    ] = ""
    reading_needs_key: Annotated[
        bool, Meta(description="Require a key for reading too, once a key exists")
    ] = False
    takedown_needs_two: Annotated[
        bool,
        Meta(
            description=("Allow takedowns on the pages only after someone else placed an embargo")
        ),
    ] = False
    trusted_proxies: Annotated[
        str,
        Meta(
            description="IP addresses and networks of proxies whose X-Forwarded-For names the "
            "client, separated by blanks"
        ),
    ] = ""
    session_s: Annotated[
        int, Meta(ge=60, le=31_536_000, description="Maximum duration of a browser session")
    ] = 43_200
    metrics_port: Annotated[
        int,
        Meta(ge=0, le=65535, description="Port of a worker's /metrics and /healthz; 0 means none"),
    ] = 0
