"""Captures as a web archive replays them, and where the files of petabox items are.

Source: RFC 7089, section 4.5 (a capture's own status carries Memento-Datetime, the archive's does not).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import quote, urldefrag, urlsplit

from fonds.formats.surt import surt
from fonds.model.archive import HttpHead, Payload
from fonds.model.disposition import Reason
from fonds.model.errors import PermanentError
from fonds.model.secrets import without_secrets
from fonds.stores.archive.elsewhere.http_files import WHOLE_S, read_whole
from fonds.stores.archive.elsewhere.web import HttpAnswer, Web, check_status

_TIMESTAMP, _URL, _ITEM, _PATH = "{timestamp}", "{url}", "{item}", "{path}"
_CAPTURE = re.compile(r"([0-9]{14})/(.+)", re.DOTALL)
_KEPT_IN_URLS = "%/:?&=+$,;@!*'()~[]"
_OF_CAPTURE = "memento-datetime"
_ORIGINAL = "x-archive-orig-"


@dataclass(frozen=True, slots=True)
class Replays:
    """Reads captures by time and URL; `template` holds `{timestamp}` and ends with `{url}`.

    An empty template: there is no web archive to ask, every capture is an UNREADABLE_SOURCE.
    """

    web: Web
    template: str

    def read(self, path: str, bytes_max: int) -> Payload:
        """The capture `YYYYMMDDhhmmss/URL`, or that of another time if the archive redirects there.

        `http` is the head of the capture itself, so far as the archive hands it on; its status need not
        be 200. `warc_headers` say by `WARC-Date` which time was replayed in the end.

        Raises PermanentError (MISSING_SOURCE, UNREADABLE_SOURCE), DamagedInputError (BAD_ENCODING),
        LimitError (TOO_LARGE, BOMB) and TransientError.
        """
        timestamp, url = _capture(path)
        if not self.template:
            raise PermanentError(
                Reason.UNREADABLE_SOURCE,
                "no web archive is known; set elsewhere.replay_url to read captures",
            )

        def follows(headers: Mapping[str, str], target: str) -> bool:
            if _OF_CAPTURE in headers:
                return False
            self._check_same(url, target)
            return True

        asked = self.template.replace(_TIMESTAMP, timestamp).replace(_URL, _quoted(url))
        with self.web.get(asked, {}, total_s=WHOLE_S, follows=follows) as answer:
            if _OF_CAPTURE not in answer.headers:
                check_status(answer.status, 200)
            replayed = self._read_back(answer.url) or (timestamp, url)
            body = read_whole(answer, bytes_max)
            return Payload(body, _head(answer), None, _as_record(url, replayed[0]))

    def _check_same(self, url: str, target: str) -> None:
        found = self._read_back(target)
        if found is None or surt(found[1]) != surt(url):
            raise PermanentError(
                Reason.UNREADABLE_SOURCE,
                f"the archive redirects to {without_secrets(target)[:200]!r}, which is no replay of this URL",
            )

    def _read_back(self, target: str) -> tuple[str, str] | None:
        """Time and URL of an address the template could have made, on whatever host; else None."""
        before, _, after = urlsplit(self.template).path.partition(_TIMESTAMP)
        between = after.removesuffix(_URL)
        made = rf"https?://[^/?#]+{re.escape(before)}([0-9]{{14}}){re.escape(between)}(.+)"
        match = re.fullmatch(made, target, re.DOTALL)
        return (match[1], match[2]) if match else None


def item_url(template: str, path: str) -> str:
    """The address of a petabox item's file, `ITEM/PATH`; `template` holds `{item}` and `{path}`.

    Raises PermanentError (UNREADABLE_SOURCE), also for an empty template: there are no items then.
    """
    item, _, within = path.partition("/")
    if not template:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE,
            "no petabox is known; set elsewhere.petabox_url to read its items",
        )
    if any(part in ("", ".", "..") for part in (item, *within.split("/"))) or "\x00" in path:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE, "not an item and a path within it, as item/folder/a.pdf"
        )
    try:
        return template.replace(_ITEM, quote(item, safe="")).replace(_PATH, quote(within))
    except UnicodeEncodeError as error:
        raise PermanentError(Reason.UNREADABLE_SOURCE, "the item's path is not text") from error


def _capture(path: str) -> tuple[str, str]:
    match = _CAPTURE.fullmatch(path)
    if match is None:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE, "not a capture's 14-digit time and URL, as 20200101000000/URL"
        )
    return match[1], match[2]


def _quoted(url: str) -> str:
    """The URL as it can stand in a path; what is escaped already stays so, fragments are never sent."""
    try:
        return quote(urldefrag(url).url, safe=_KEPT_IN_URLS)
    except ValueError as error:
        raise PermanentError(
            Reason.UNREADABLE_SOURCE, f"the capture's URL cannot be asked for: {error}"
        ) from error


def _head(answer: HttpAnswer) -> HttpHead:
    """The head of the capture: the archive hands its headers on under names of their own."""
    originals = [
        (name[len(_ORIGINAL) :], value)
        for name, value in answer.headers.items()
        if name.lower().startswith(_ORIGINAL)
    ]
    declared = answer.headers.get("content-type")
    if declared is not None and not any(name.lower() == "content-type" for name, _ in originals):
        originals.append(("Content-Type", declared))
    known = answer.status in HTTPStatus._value2member_map_
    phrase = HTTPStatus(answer.status).phrase if known else ""
    return HttpHead(answer.status, f"HTTP/1.1 {answer.status} {phrase}".rstrip(), originals)


def _as_record(url: str, timestamp: str) -> dict[str, str]:
    day = f"{timestamp[:4]}-{timestamp[4:6]}-{timestamp[6:8]}"
    time = f"{timestamp[8:10]}:{timestamp[10:12]}:{timestamp[12:]}"
    return {"WARC-Target-URI": url, "WARC-Date": f"{day}T{time}Z"}
