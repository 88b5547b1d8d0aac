"""A queue whose messages may be of any size: bodies over its limit lie in the blob store meanwhile."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fonds.model.blob import Blob
from fonds.model.message import NO_TOPICS, Delivery, Depth, Message, Subscription, Traits
from fonds.ports import Blobs, TopicQueue
from fonds.ports.closing import close

BODY_BLOB = "fonds-body"
FOLDER = "messages"
CONTENT_TYPE = "application/octet-stream"

logger = logging.getLogger(__name__)


class LargeBodies:
    """Implements the port Queue over another queue and a blob store.

    A body over `limit_bytes` is put under a key of its own for each address that will read it, and its
    message says which in the header `fonds-body`; the blob goes when the message is settled. On a topic
    that nobody declared here reads, the blob stays for whoever does. A message whose blob is gone was
    settled before and came twice: it is settled again and not handed out.
    """

    def __init__(self, queue: TopicQueue, blobs: Blobs, limit_bytes: int) -> None:
        self._queue = queue
        self.blobs = blobs
        self._limit_bytes = limit_bytes
        self._subscriptions: dict[str, Subscription] = {}
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Delivery]] = {}

    def declare(
        self, subscriptions: Iterable[Subscription], topics: Mapping[str, Traits] = NO_TOPICS
    ) -> None:
        """As the port says."""
        known = list(subscriptions)
        self._queue.declare(known, topics)
        self._subscriptions |= {one.name: one for one in known}

    def put(self, address: str, messages: Sequence[Message], *, delay_s: float = 0.0) -> None:
        """As the port says; large bodies are in the blob store before their messages are put."""
        small = [message for message in messages if len(message.body) <= self._limit_bytes]
        large = [message for message in messages if len(message.body) > self._limit_bytes]
        if small or not large:
            self._queue.put(address, small, delay_s=delay_s)
        batches: dict[str, list[Message]] = defaultdict(list)
        for message in large:
            readers = self._readers(address, message)
            for reader in readers:
                # What only one reads goes the way of all others, and is seen on its topic.
                target = address if len(readers) == 1 else reader
                batches[target].append(self._stored(message, reader))
        for target, stored in batches.items():
            self._queue.put(target, stored, delay_s=delay_s)

    def _readers(self, address: str, message: Message) -> list[str]:
        """The addresses a message put there is read from, as far as they were declared here."""
        known = [one for one in self._subscriptions.values() if one.topic == address]
        return [one.incoming for one in known if message.is_for(one.pipeline)] or [address]

    def receive(self, address: str, count_max: int, wait_s: float) -> list[Delivery]:
        """As the port says, with the bodies whole.

        While the blob store is away what was received stays here: given back it would count as handed
        out, and after some twenty times as a message that ends processes.
        """
        with self._lock:
            waiting = self._waiting.pop(address, [])
        # The blob store may be away for longer than a lease.
        waiting = self._queue.keep(waiting)
        deliveries, rest = waiting[:count_max], waiting[count_max:]
        try:
            deliveries = deliveries or self._queue.receive(address, count_max, wait_s)
            found = [whole for delivery in deliveries if (whole := self._whole(delivery))]
        except BaseException:
            rest = deliveries + rest
            raise
        finally:
            if rest:
                with self._lock:
                    self._waiting.setdefault(address, []).extend(rest)
        return found

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """As the port says; blobs go last, so that no message is ever without its body."""
        self._queue.settle([_bare(delivery) for delivery in deliveries])
        keys = [one.receipt.key for one in deliveries if isinstance(one.receipt, _Fetched)]
        if keys:
            self.blobs.delete(keys)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """As the port says."""
        self._queue.release([_bare(delivery) for delivery in deliveries])

    def keep(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """As the port says."""
        bare = [_bare(delivery) for delivery in deliveries]
        held = {one.receipt for one in self._queue.keep(bare)}
        pairs = zip(deliveries, bare, strict=True)
        return [whole for whole, one in pairs if one.receipt in held]

    def depth(self, subscription: Subscription) -> Depth:
        """As the port says."""
        return self._queue.depth(subscription)

    def close(self) -> None:
        """Close the queue below, where it can be closed."""
        close(self._queue)

    def _stored(self, message: Message, reader: str) -> Message:
        digest = hashlib.sha1(f"{message.id}\n{message.attempt}\n".encode(), usedforsecurity=False)
        digest.update(message.body)
        name = digest.hexdigest()
        key = f"{FOLDER}/{reader}/{name[:2]}/{name[2:4]}/{name}"
        self.blobs.put([Blob(key, message.body, CONTENT_TYPE)])
        return replace(message, body=b"", headers={**message.headers, BODY_BLOB: key})

    def _whole(self, delivery: Delivery) -> Delivery | None:
        message = delivery.message
        key = message.headers.get(BODY_BLOB, "")
        if not key.startswith(f"{FOLDER}/{delivery.address}/"):
            # No reference, or not to a blob that is this queue's to read and remove.
            return delivery
        body = self.blobs.get(key)
        if body is None:
            logger.warning("%s came again after it was settled", message.id)
            self._queue.settle([delivery])
            return None
        headers = {name: value for name, value in message.headers.items() if name != BODY_BLOB}
        whole = replace(message, body=body, headers=headers)
        return replace(delivery, message=whole, receipt=_Fetched(delivery.receipt, key))


@dataclass(frozen=True, slots=True)
class _Fetched:
    """The receipt of a message whose body lies at `key`."""

    receipt: object
    key: str


def _bare(delivery: Delivery) -> Delivery:
    """The delivery with the receipt the queue below gave."""
    if isinstance(delivery.receipt, _Fetched):
        return replace(delivery, receipt=delivery.receipt.receipt)
    return delivery
