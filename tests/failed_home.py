"""A home in which things failed: on the books, and with their messages in quarantine."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from fonds.config import Settings
from fonds.model.disposition import Reason, Verdict
from fonds.model.message import Message, Subscription
from fonds.ports import Stores
from fonds.wiring.stores import list_readers
from home_rows import NOW, Body, enter, said

TRIED = (
    (Reason.TIMEOUT, "stopped after {} s", "http://slow.example/{}"),
    (Reason.BROKEN_PDF, "object {} is missing", "http://daily.example/{}.pdf"),
    (Reason.MISSING_SOURCE, "no file /crawls/{}.warc.gz", "/crawls/{}.pdf"),
)


def reader(name: str = "library.extract_pdf") -> Subscription:
    return next(one for one in list_readers(Settings()) if one.name == name)


def body(number: int) -> Body:
    """The body that fails as `TRIED` says of the remainder by three."""
    url = TRIED[number % 3][2].format(number)
    return Body(number, url, NOW, "application/pdf", b"%%PDF %d" % number)


def fail(stores: Stores, *numbers: int) -> None:
    """Have these fail at extract_pdf; what entered before fails again."""
    bodies = [body(number) for number in numbers]
    enter(stores, bodies)
    ended, messages = [], []
    for one in bodies:
        reason, detail, _ = TRIED[one.number % 3]
        told = detail.format(one.number)
        ended.append(said(one, "identify", 0))
        row = said(one, "extract_pdf", 1, "identify", Verdict.QUARANTINED, reason, told)
        at = NOW + timedelta(minutes=one.number)
        ended.append(replace(row, settled_at=at))
        headers = {"reason": str(reason), "detail": told, "about": one.sha1hex}
        messages.append(Message(one.capture_id, b"{}", one.sha1hex, 3, headers))
    stores.ledger.write(ended)
    stores.queue.put(reader().quarantine, messages)
