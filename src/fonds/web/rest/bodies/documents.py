"""Documents as they are sent: one, a list, `{"bulk": […]}` or one a line; what is none is told by its place.

Bound: a body has at most 32 MiB (`serving/lanes.py`) and 10,000 documents; a document has no depth. All of a
body is judged before any of it is put.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from starlette.requests import Request

from fonds.collections.documents import Document, checked_document
from fonds.formats.grouping.dense import NUMBERS_MAX
from fonds.model.errors import LimitError
from fonds.model.numbers import EXACT_MAX
from fonds.model.prepared import prepared
from fonds.web.problems import RefusedError
from fonds.web.rest.service import decoded
from fonds.web.serving.lanes import LINES, media_type

DOCUMENTS_MAX = 10_000
Time = Annotated[int, msgspec.Meta(ge=0, le=EXACT_MAX)]
Numbers = Annotated[list[float], msgspec.Meta(max_length=NUMBERS_MAX)]


class Sent(msgspec.Struct, forbid_unknown_fields=True):
    """A document as an application sends it: `id` is its own, a number is taken as its digits. `text` is
    grouped, `title` and `url` are shown; `language` has two letters; `time` is in seconds since 1970;
    `vector` is what a language model of the application's own makes of it."""

    id: str | int
    text: str
    title: str = ""
    url: str = ""
    language: str = ""
    time: Time | None = None
    vector: Numbers = []


class SentTo(msgspec.Struct, forbid_unknown_fields=True):
    """A document whose id stands in the address, and may be repeated here."""

    text: str
    id: str | int | None = None
    title: str = ""
    url: str = ""
    language: str = ""
    time: Time | None = None
    vector: Numbers = []


class _Bulk(msgspec.Struct, forbid_unknown_fields=True):
    bulk: list[Sent]


class _MayBeBulk(msgspec.Struct):
    bulk: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def documents(body: bytes, request: Request) -> list[Document]:
    """The documents of a body. Raises RefusedError 400 or 413 that names the place."""
    if media_type(request.headers) in LINES:
        return _of_lines(body)
    begun = body.lstrip()[:1]
    if begun == b"[":
        return _whole(decoded(body, list[Sent]), "")
    if begun == b"{" and _has_bulk(body):
        return _whole(decoded(body, _Bulk).bulk, "/bulk")
    return [_judged(decoded(body, Sent), "")]


def document(body: bytes, document_id: str) -> Document:
    """The document of a body whose id stands in the address. Raises RefusedError."""
    sent = decoded(body, SentTo)
    if sent.id is not None and str(sent.id) != document_id:
        said = f"The address says the id {document_id!r}, and the document {str(sent.id)!r}."
        raise RefusedError(400, said, pointer="/id")
    return _checked(_document(sent, document_id), "")


def _has_bulk(body: bytes) -> bool:
    """Whether an object has the member `bulk`; nothing else of it is looked at."""
    try:
        return msgspec.json.decode(body, type=prepared(_MayBeBulk)).bulk is not msgspec.UNSET
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _whole(sent: list[Sent], pointer: str) -> list[Document]:
    _check_count(len(sent), pointer)
    return [_judged(one, f"{pointer}/{at}") for at, one in enumerate(sent)]


def _of_lines(body: bytes) -> list[Document]:
    found = []
    for number, line in enumerate(body.split(b"\n"), 1):
        if line.strip():
            sent = decoded(line, Sent, number)
            found.append(_judged(sent, "", number))
            _check_count(len(found), "")
    if not found:
        raise RefusedError(400, "There is no document in the body.", pointer="")
    return found


def _judged(sent: Sent, pointer: str, line: int | None = None) -> Document:
    return _checked(_document(sent, str(sent.id)), pointer, line)


def _document(sent: Sent | SentTo, document_id: str) -> Document:
    vector = tuple(sent.vector)
    return Document(document_id, sent.text, sent.title, sent.url, sent.language, sent.time, vector)


def _checked(found: Document, pointer: str, line: int | None = None) -> Document:
    try:
        return checked_document(found)
    except LimitError as error:
        raise RefusedError(413, f"{error}.", pointer=f"{pointer}/text", line=line) from error
    except ValueError as error:
        raise RefusedError(400, f"{error}.", pointer=pointer, line=line) from error


def _check_count(count: int, pointer: str) -> None:
    if count > DOCUMENTS_MAX:
        said = f"There are over {DOCUMENTS_MAX:,} documents; send fewer at once."
        raise RefusedError(413, said, pointer=pointer)
