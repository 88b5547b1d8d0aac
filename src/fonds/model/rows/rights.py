"""Rows about what is stated of the use of captures and files (`model/rights.py`)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class CaptureRightsRow:
    """`capture_rights`: what the host and the response of one capture stated; none is written without either.

    `robots_url` is the address of the robots.txt in force, None where it is not known; `robots_answer`,
    `robots_capture_id` and `robots_rule` are those of `RobotsInForce`. `stated` has under `statements` the
    statements as JSON.
    """

    TABLE: ClassVar[str] = "capture_rights"
    KEY: ClassVar[tuple[str, ...]] = ("capture_id",)
    capture_id: str
    sha1hex: str
    robots_url: str | None
    robots_answer: str | None
    robots_capture_id: str | None
    robots_rule: str | None
    stated: Mapping[str, Any]
    updated: dt.datetime


@dataclass(frozen=True, slots=True)
class FileRightsRow:
    """`file_rights`: what one file states of itself; none is written for a file that states nothing.

    `stated` has under `statements` the statements as JSON; `extractor` is the version that read them.
    """

    TABLE: ClassVar[str] = "file_rights"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    sha1hex: str
    stated: Mapping[str, Any]
    extractor: str
    updated: dt.datetime


@dataclass(frozen=True, slots=True)
class HostFileRow:
    """`host_files`: a capture of what a host says to crawlers; `name` is `robots.txt` or `tdmrep.json`.

    `origin` is scheme, host and port, as requests have them.
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
    """`host_texts`: the text of such a file, 500 KiB of it at most."""

    TABLE: ClassVar[str] = "host_texts"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    sha1hex: str
    text: str


@dataclass(frozen=True, slots=True)
class HostCaptureRow:
    """`host_captures`: a response, of which the files of its host state more.

    `target` is path and query of its address, as requests have them. `crawler` is the User-Agent that fetched
    it, "" where it is not known. `is_fetched`: Fonds requested it, so that its robots.txt is the one that
    allowed the request.
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
    """`tdmrep_answers`: how a host answered when it was last asked for its tdmrep.json.

    `origin` is scheme, host and port, as requests have them. `answer` is the status (`200`, `404`), or the
    reason there was none (`robots-denied`). `capture_id` is that of the file, None where none was kept.
    """

    TABLE: ClassVar[str] = "tdmrep_answers"
    KEY: ClassVar[tuple[str, ...]] = ("origin",)
    origin: str
    asked_at: dt.datetime
    answer: str
    capture_id: str | None = None
