"""Rows with statements about the use of captures and files (`model/rights.py`)."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import ClassVar

from fonds.model.rights import StatedRights


@dataclass(frozen=True, slots=True)
class CaptureRightsRow:
    """`capture_rights`: what the host and the response of one capture stated.

    The row exists only if they stated something. `robots_url` is the address of the robots.txt in
    force, None if unknown. `robots_answer`, `robots_capture_id` and `robots_rule` are those of
    `RobotsInForce`.
    """

    TABLE: ClassVar[str] = "capture_rights"
    KEY: ClassVar[tuple[str, ...]] = ("capture_id",)
    capture_id: str
    sha1hex: str
    robots_url: str | None
    robots_answer: str | None
    robots_capture_id: str | None
    robots_rule: str | None
    stated: StatedRights
    updated: dt.datetime


@dataclass(frozen=True, slots=True)
class FileRightsRow:
    """`file_rights`: what one file states about its use; only if it states something.

    `extractor` is the version that read them.
    """

    TABLE: ClassVar[str] = "file_rights"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    sha1hex: str
    stated: StatedRights
    extractor: str
    updated: dt.datetime


@dataclass(frozen=True, slots=True)
class HostFileRow:
    """`host_files`: a capture of a host's file for crawlers.

    `name` is `robots.txt` or `tdmrep.json`. `origin` is scheme, host and port, as in requests.
    """

    TABLE: ClassVar[str] = "host_files"
    KEY: ClassVar[tuple[str, ...]] = ("origin", "name", "captured_at", "capture_id")
    origin: str
    name: str
    captured_at: dt.datetime
    capture_id: str
    sha1hex: str


@dataclass(frozen=True, slots=True)
class HostTextRow:
    """`host_texts`: text of such a file, at most 500 KiB."""

    TABLE: ClassVar[str] = "host_texts"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    sha1hex: str
    text: str


@dataclass(frozen=True, slots=True)
class HostCaptureRow:
    """`host_captures`: a response to which statements in its host's files apply.

    `target` is path and query of its address, as in requests. `crawler` is the User-Agent that
    fetched it, "" if unknown. `is_fetched` says that Fonds fetched it, so its robots.txt is the one
    that allowed the request.
    """

    TABLE: ClassVar[str] = "host_captures"
    KEY: ClassVar[tuple[str, ...]] = ("origin", "captured_at", "capture_id")
    origin: str
    captured_at: dt.datetime
    capture_id: str
    sha1hex: str
    target: str
    crawler: str
    is_fetched: bool = False


@dataclass(frozen=True, slots=True)
class TdmrepAnswerRow:
    """`tdmrep_answers`: the last answer of a host to a request for its tdmrep.json.

    `origin` is scheme, host and port, as in requests. `answer` is the status (`200`, `404`), or the
    reason why there was none (`robots-denied`). `capture_id` is that of the file, None if none was
    kept.
    """

    TABLE: ClassVar[str] = "tdmrep_answers"
    KEY: ClassVar[tuple[str, ...]] = ("origin",)
    origin: str
    requested_at: dt.datetime
    answer: str
    capture_id: str | None = None
