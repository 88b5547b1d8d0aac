"""The settings that belong together: a table of `fonds.toml` each."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

STRICT = ConfigDict(frozen=True, extra="forbid")
"""No group changes once it was made, or has a setting nobody knows."""


class WorkSettings(BaseModel):
    """How much is done at once, and how often something is tried."""

    model_config = STRICT

    children: int = Field(0, ge=0, description="Isolated readers at once; 0 means one a core")
    workers: int = Field(
        0, ge=0, description="Processes `ingest`, `catchup` and retries may use; 0 means one a core"
    )
    worker_backlog: int = Field(
        500, ge=1, description="Waiting messages for which one more of these processes starts"
    )
    retries_max: int = Field(10, ge=0, description="Retries before a message is quarantined")
    retry_first_s: float = Field(
        5.0, gt=0, description="Delay of the first retry, doubled each time"
    )
    retry_longest_s: float = Field(3600.0, gt=0, description="Longest delay between retries")
    queue_high: int = Field(
        20_000, ge=1, description="Messages waiting at a step at which sources pause"
    )
    queue_low: int = Field(
        10_000, ge=0, description="Messages waiting at a step at which sources go on"
    )
    child_memory_bytes: int = Field(
        2 * 1024**3,
        ge=2**28,
        description="Memory of one reader at most; that of a PDF has 640 MiB and eight times its size",
    )


class PdfSettings(BaseModel):
    """PDFs, and what is made of them."""

    model_config = STRICT

    max_bytes: int = Field(256 * 1024**2, ge=1, description="Largest PDF read")
    timeout_s: float = Field(60.0, gt=0, description="Longest time for one PDF")
    pages_max: int = Field(2_000, ge=1, description="Pages of a PDF whose text is read")
    pixels_max: int = Field(50_000_000, ge=10_000, description="Pixels rendered at most")
    stopped_days: float = Field(
        30.0, gt=0, description="Days before a PDF that stopped a reader is tried again"
    )
    more_thumbnails: str = Field(
        "", description="Thumbnails besides 180px-jpg, as 360px-jpg,360px-webp,180px-png"
    )


class PageSettings(BaseModel):
    """Pages."""

    model_config = STRICT

    max_bytes: int = Field(10_000_000, ge=1, description="Largest page body read")
    timeout_s: float = Field(20.0, gt=0, description="Longest time for one page")


class WarcSettings(BaseModel):
    """WARC files, ours and those an index names."""

    model_config = STRICT

    prefix: str = Field(
        "fonds",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description="Beginning of our WARC files' names, where the pipeline has none of its own",
    )
    version: str = Field(
        "1.1", pattern=r"^1\.[01]$", description="WARC version written, 1.1 or 1.0"
    )
    form: Literal["fonds", "mediacloud"] = Field(
        "fonds",
        description="Form of what is written: the standard's, or WARC/1.0 as Media Cloud's readers take it",
    )
    stories_max: int = Field(5_000, ge=1, description="Bodies in one WARC file")
    max_bytes: int = Field(
        1024**3, ge=1, description="Size of a WARC at most, one long body alone excepted"
    )
    waiting_max_bytes: int = Field(
        20 * 1024**3, ge=0, description="Finished WARCs that may wait here for S3, in bytes"
    )
    copy_bodies: bool = Field(
        False, description="Copy bodies out of other people's WARCs into ours"
    )
    base: str = Field("", repr=False, description="Folder or URL where the WARCs of a CDX are")


class ElsewhereSettings(BaseModel):
    """What lies on other machines, and how it may be reached."""

    model_config = STRICT

    task_folder: str = Field(
        "", description="Folder whose files other programs' tasks may name; empty means none"
    )
    s3_url: str = Field(
        "",
        repr=False,
        description="Server and keys of places in S3; empty means AWS by its environment",
    )
    replay_url: str = Field(
        "https://web.archive.org/web/{timestamp}id_/{url}",
        repr=False,
        pattern=r"^$|^https?://[^{}?#]+/[^{}?#]*\{timestamp\}[^{}?#]*\{url\}$",
        description="Web archive that replays captures, unrewritten; empty means none",
    )
    petabox_url: str = Field(
        "https://archive.org/serve/{item}/{path}",
        repr=False,
        pattern=r"^$|^https?://[^{}?#]+/[^{}?#]*\{item\}[^{}?#]*/\{path\}$",
        description="Where the files of petabox items are; empty means nowhere",
    )
    private_addresses: bool = Field(
        False, description="Allow fetching from private and loopback addresses"
    )


class FetchSettings(BaseModel):
    """Fetching: who we are, how fast, and how much."""

    model_config = STRICT

    agent: str = Field(
        "Fonds",
        pattern=r"^[A-Za-z_-]{1,64}$",
        description="Our name in the User-Agent; robots.txt files know us by it",
    )
    contact: str = Field(
        "",
        pattern=r"^[\x21-\x7e]{0,200}$",
        description="Address of a page or mailbox for those whose sites we fetch, in the User-Agent",
    )
    host_gap_s: float = Field(
        2.0, ge=0, description="Least seconds between requests to a host; half of it for its domain"
    )
    gap_longest_s: float = Field(
        3600.0, gt=0, description="Longest gap that refusals and slow answers lead to"
    )
    at_once: int = Field(64, ge=1, le=1000, description="Requests under way at once")
    in_hand_max: int = Field(1_000, ge=1, description="Links that wait for their turn here")
    patience_s: float = Field(
        60.0, gt=0, description="Seconds a link waits here before it goes back to the queue"
    )
    connect_s: float = Field(30.0, gt=0, description="Longest time to connect")
    total_s: float = Field(120.0, gt=0, description="Longest time for one request")
    max_bytes: int = Field(10_000_000, ge=1, description="Largest body fetched, as it is sent")
    redirects_max: int = Field(10, ge=0, description="Redirects followed for one link")
    ca_file: str = Field(
        "", description="File of the authorities whose certificates count; empty means Mozilla's"
    )


class SourcesSettings(BaseModel):
    """Sources that are followed, and the links they list."""

    model_config = STRICT

    poll_shortest_s: float = Field(
        900.0, ge=10, description="Seconds between two polls of a source at least"
    )
    poll_longest_s: float = Field(
        86_400.0, ge=10, description="Seconds between two polls of a source at most"
    )
    poll_threads: int = Field(8, ge=1, le=100, description="Hosts whose sources are polled at once")
    non_news: str = Field(
        "", description="Further domains whose links are refused, as example.org,example.com"
    )
    news: str = Field(
        "", description="Domains whose links are taken though they are listed as no news"
    )
    logins: str = Field(
        "",
        repr=False,
        description="URLs with user and password of servers that ask for them, blanks between them",
    )


class AuditSettings(BaseModel):
    """The audit that recurs."""

    model_config = STRICT

    days: int = Field(
        30, ge=1, description="Days in which `fonds run` reads and hashes everything that is kept"
    )


class WebSettings(BaseModel):
    """The pages, and what workers tell of themselves."""

    model_config = STRICT

    host: str = Field("127.0.0.1", description="Address the web page and the metrics listen on")
    port: int = Field(8765, ge=0, le=65535, description="Port the web page listens on")
    replay_port: int = Field(
        0,
        ge=0,
        le=65535,
        description="Port captures are replayed on; 0 means the one behind `web.port`",
    )
    replay_url: str = Field(
        "",
        pattern=r"^$|^https?://[^/?#\s]+/?$",
        description="Origin browsers reach that port at, behind a proxy; empty means this host",
    )
    metrics_port: int = Field(
        0, ge=0, le=65535, description="Port of a worker's /metrics and /healthz; 0 means none"
    )
