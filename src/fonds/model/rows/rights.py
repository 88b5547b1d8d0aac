"""Rows of statements about the use of captures and files: licences, robots.txt rules and TDMRep.

TDMRep is the TDM Reservation Protocol, in which a host states its terms for text and data mining.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import ClassVar

from fonds.model.rights import StatedRights


@dataclass(frozen=True, slots=True)
class CaptureRightsRow:
    """Row of `capture_rights`: what the host and the response of one capture stated about its use.

    The row exists only if they stated something.
    - `robots_url`: address of the robots.txt in force at the capture; None if unknown.
    - `robots_answer`: status of the host's response to the request for the robots.txt.
    - `robots_capture_id`: id of the capture of the robots.txt; None if it was not kept.
    - `robots_rule`: line of the robots.txt that decided about the captured URL.
    - `stated`: the statements.
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
    """Row of `file_rights`: what a file itself states about its use, such as a licence.

    The row exists only if the file states something. `extractor` is the version of the program that
    read the statements.
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

    - `origin`: scheme, host and port, as in requests.
    - `name`: `robots.txt` or `tdmrep.json`.
    - `sha1hex`: SHA-1 of the captured file.
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
    """Row of `host_texts`: text of a captured robots.txt or tdmrep.json, at most 500 KiB."""

    TABLE: ClassVar[str] = "host_texts"
    KEY: ClassVar[tuple[str, ...]] = ("sha1hex",)
    sha1hex: str
    text: str


@dataclass(frozen=True, slots=True)
class HostCaptureRow:
    """Row of `host_captures`: a capture to which the host's robots.txt and tdmrep.json apply.

    - `origin`: scheme, host and port of the captured URL, as in requests.
    - `target`: path and query of the captured URL, as in requests.
    - `crawler`: User-Agent of the request, "" if unknown.
    - `is_fetched`: whether Fonds made the request. Then the robots.txt in force is the one that
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
    """Row of `tdmrep_answers`: the last response of a host to a request for its tdmrep.json.

    - `origin`: scheme, host and port, as in requests.
    - `answer`: HTTP status (`200`, `404`), or the reason why there was no response
      (`robots-denied`).
    - `capture_id`: id of the capture of the tdmrep.json; None if the file was not kept.
    """

    TABLE: ClassVar[str] = "tdmrep_answers"
    KEY: ClassVar[tuple[str, ...]] = ("origin",)
    origin: str
    asked_at: dt.datetime
    answer: str
    capture_id: str | None = None
