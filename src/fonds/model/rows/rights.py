"""Rows with statements about the permitted use of captures and files (`model/rights.py`)."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import ClassVar

from fonds.model.rights import StatedRights


@dataclass(frozen=True, slots=True)
class CaptureRightsRow:
    """Row of `capture_rights`: what the host and the response of one capture state about permitted
    use.

    The row exists only if they state something.

    - `robots_url`: URL of the robots.txt that was in force; None if unknown.
    - `robots_answer`, `robots_capture_id`, `robots_rule`: the response to the request for the
      robots.txt, the id of its capture, and the line that decided about the URL.
    - `stated`: the statements about permitted use.
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
    """Row of `file_rights`: what the content of one file states about its permitted use.

    The row exists only if the file states something.

    - `stated`: statements found in the file.
    - `extractor`: version of the program that extracted the statements.
    """

    TABLE: ClassVar[str] = "file_rights"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    sha1hex: str
    stated: StatedRights
    extractor: str
    updated: dt.datetime


@dataclass(frozen=True, slots=True)
class HostFileRow:
    """Row of `host_files`: a capture of a host's robots.txt or tdmrep.json.

    - `origin`: scheme, host and port of the host, as in HTTP requests.
    - `name`: `robots.txt` or `tdmrep.json`.
    """

    TABLE: ClassVar[str] = "host_files"
    KEY: ClassVar[tuple[str, ...]] = ("origin", "name", "captured_at", "capture_id")
    SEALED: ClassVar[bool] = True
    origin: str
    name: str
    captured_at: dt.datetime
    capture_id: str
    sha1hex: str


@dataclass(frozen=True, slots=True)
class HostTextRow:
    """Row of `host_texts`: text of a captured robots.txt or tdmrep.json, by the SHA-1 of the file.

    `text` has at most 500 KiB.
    """

    TABLE: ClassVar[str] = "host_texts"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    SEALED: ClassVar[bool] = True
    sha1hex: str
    text: str


@dataclass(frozen=True, slots=True)
class HostCaptureRow:
    """Row of `host_captures`: a captured response to which the robots.txt and tdmrep.json of its
    host apply.

    - `origin`: scheme, host and port of the response's URL, as in HTTP requests.
    - `target`: path and query of the response's URL, as in HTTP requests.
    - `crawler`: User-Agent that fetched the response; "" if unknown.
    - `is_fetched`: whether Fonds fetched the response. If so, the robots.txt that allowed the
      request applies.
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
    """Row of `tdmrep_answers`: the last response of a host to a request for its tdmrep.json.

    - `origin`: scheme, host and port of the host, as in HTTP requests.
    - `answer`: HTTP status (`200`, `404`), or the reason why there was no response
      (`robots-denied`).
    - `capture_id`: id of the capture of the tdmrep.json; None if none was stored.
    """

    TABLE: ClassVar[str] = "tdmrep_answers"
    KEY: ClassVar[tuple[str, ...]] = ("origin",)
    origin: str
    requested_at: dt.datetime
    answer: str
    capture_id: str | None = None
