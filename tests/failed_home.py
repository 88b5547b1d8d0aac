"""A home with failures: dispositions in the ledger and messages in quarantine."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from fonds.config import Settings
from fonds.model.disposition import Reason, Verdict
from fonds.model.message import Message, Subscription
from fonds.ports import Stores
from fonds.wiring.flavours import list_readers
from home_rows import NOW, Body, build_disposition, enter

FAILURES = (
    (Reason.TIMEOUT, "stopped after {} s", "http://slow.example/{}"),
    (Reason.BROKEN_PDF, "object {} is missing", "http://daily.example/{}.pdf"),
    (Reason.MISSING_SOURCE, "no file /crawls/{}.warc.gz", "/crawls/{}.pdf"),
)


def reader(name: str = "library.extract_pdf") -> Subscription:
    return next(
        subscription for subscription in list_readers(Settings()) if subscription.name == name
    )


def body(number: int) -> Body:
    """Build a body that fails for the reason in `FAILURES` at its number modulo three."""
    url = FAILURES[number % 3][2].format(number)
    return Body(number, url, NOW, "application/pdf", b"%%PDF %d" % number)


def fail(stores: Stores, *numbers: int) -> None:
    """Make bodies fail at extract_pdf; a body that entered before fails again."""
    bodies = [body(number) for number in numbers]
    enter(stores, bodies)
    dispositions, messages = [], []
    for failing_body in bodies:
        reason, detail, _ = FAILURES[failing_body.number % 3]
        message = detail.format(failing_body.number)
        dispositions.append(build_disposition(failing_body, "identify", 0))
        row = build_disposition(
            failing_body, "extract_pdf", 1, "identify", Verdict.QUARANTINED, reason, message
        )
        at = NOW + timedelta(minutes=failing_body.number)
        dispositions.append(replace(row, settled_at=at))
        headers = {"reason": str(reason), "detail": message, "about": failing_body.sha1hex}
        messages.append(Message(failing_body.capture_id, b"{}", failing_body.sha1hex, 3, headers))
    stores.ledger.write(dispositions)
    stores.queue.put(reader().quarantine, messages)
