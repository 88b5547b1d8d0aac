"""Queue wrapper that accepts messages of any size: it stores large bodies in the blob store."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from fonds.model.archive import Blob
from fonds.model.message import (
    DEFERRALS,
    NO_TOPICS,
    Delivery,
    Depth,
    Message,
    Subscription,
    TopicTraits,
)
from fonds.ports import Blobs, TopicQueue
from fonds.ports.stores import close, purge
from fonds.queues.messages.large_field import LargeField

BODY_BLOB = "fonds-body"
FOLDER = "messages"
FRAMING_BYTES = 1_024
"""Bytes reserved for what brokers add to the body, key and headers of a message: id, attempt, and
the framing of a record.
"""
NO_FIELDS: Mapping[str, LargeField] = MappingProxyType({})
CONTENT_TYPE = "application/octet-stream"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BodyLimits:
    """Size limits of messages in bytes. They apply in addition to the limit of the queue backend.

    - `body_bytes`: maximum size of the body of a message between steps.
    - `topic_bytes`: maximum size of a complete message on a public topic.
    """

    body_bytes: int
    topic_bytes: int


class LargeBodies:
    """Queue that stores large message bodies in a blob store and the messages in another queue.

    Between steps, a body over the limit is stored as one blob for each address that reads it. The
    message has the blob's key in the header `fonds-body`. The blob is deleted when the message is
    settled. The blob is kept if no subscription declared on this object reads the topic. If the
    blob of a message is missing, the message was settled before and delivered again. It is then
    settled and not handed out.

    A message on a public topic is sent whole up to the topic's limit. Above this limit, other
    programs get a message in which the largest field is replaced by a reference to a blob. The
    readers of declared subscriptions receive the whole message, as between steps. The next message
    with the same key replaces or deletes the blob of the field.

    `fields` gives the field that may be stored as a blob, by public topic.
    """

    def __init__(
        self,
        queue: TopicQueue,
        blobs: Blobs,
        limits: BodyLimits,
        fields: Mapping[str, LargeField] = NO_FIELDS,
    ) -> None:
        self._queue = queue
        self.blobs = blobs
        self._limits = limits
        self._fields = fields
        self._public: set[str] = set()
        self._subscriptions: dict[str, Subscription] = {}
        self._lock = threading.Lock()
        self._waiting: dict[str, list[Delivery]] = {}

    def declare(
        self, subscriptions: Iterable[Subscription], topics: Mapping[str, TopicTraits] = NO_TOPICS
    ) -> None:
        """Create the addresses and topics in the wrapped queue, and remember the subscriptions.

        Raises ConfigurationError if the wrapped queue refuses a declaration.
        """
        declared_subscriptions = list(subscriptions)
        self._queue.declare(declared_subscriptions, topics)
        self._subscriptions |= {
            subscription.name: subscription for subscription in declared_subscriptions
        }
        self._public |= topics.keys()

    def get_message_max_bytes(self, address: str) -> int:
        """Return the maximum message size of the wrapped queue for this address, in bytes."""
        return self._queue.get_message_max_bytes(address)

    def put(self, address: str, messages: Sequence[Message], *, delay_s: float = 0.0) -> None:
        """Put messages to an address. Each body over the limit is stored as a blob before its
        message is put.

        The delay `delay_s` (seconds) does not apply to messages on a public topic. Raises the
        errors of the wrapped queue and of the blob store.
        """
        if address in self._public:
            self._publish(address, messages)
            return
        limit_bytes = self._limits.body_bytes
        small = [message for message in messages if len(message.body) <= limit_bytes]
        large = [message for message in messages if len(message.body) > limit_bytes]
        if small or not large:
            self._queue.put(address, small, delay_s=delay_s)
        self._put_large(address, large, delay_s)

    def _put_large(self, address: str, large: Sequence[Message], delay_s: float) -> None:
        batches: dict[str, list[Message]] = defaultdict(list)
        for message in large:
            readers = self._list_readers(address, message)
            for reader in readers:
                # With a single reader the message goes to the topic like all others, so that it is
                # visible there.
                target = address if len(readers) == 1 else reader
                batches[target].append(self._store_body(message, reader))
        for target, stored_messages in batches.items():
            self._queue.put(target, stored_messages, delay_s=delay_s)

    def _publish(self, topic: str, messages: Sequence[Message]) -> None:
        """Put messages on a public topic: whole, or with a reference to a blob if they exceed its
        limit.

        Blobs are written before the messages that refer to them. If a new message has no blob, the
        blob of an earlier message with the same key is deleted after the new message is on the
        topic.
        """
        below_bytes = self._queue.get_message_max_bytes(topic)
        limit_bytes = min(self._limits.topic_bytes, below_bytes) - FRAMING_BYTES
        field = self._fields.get(topic)
        newest = {message.key: message for message in messages}
        published_messages: list[Message] = []
        blobs: list[Blob] = []
        large: list[Message] = []
        outdated_keys: list[str] = []
        for message in messages:
            fits = _measure_size(message) <= limit_bytes
            detached_field = (
                None if fits or field is None else field.detach(message.key, message.body)
            )
            is_newest = newest[message.key] is message
            if detached_field is not None:
                headers = {**message.headers, **detached_field.headers}
                bare = replace(message, body=detached_field.body, headers=headers)
                published_messages.append(bare.restrict_to_others())
                large.append(message)
                blobs += [detached_field.blob] if is_newest else []
                continue
            if fits:
                published_messages.append(message)
            else:
                published_messages.append(self._store_body(message, topic).restrict_to_others())
                large.append(message)
            key = field.find_key(message.key) if field is not None else None
            outdated_keys += [key] if key is not None and is_newest else []
        if blobs:
            self.blobs.put(blobs)
        self._queue.put(topic, published_messages)
        readers = [
            subscription
            for subscription in self._subscriptions.values()
            if subscription.topic == topic
        ]
        for subscription in readers:
            matching = [message for message in large if message.is_for(subscription.pipeline)]
            if matching:
                self._queue.put(
                    subscription.incoming,
                    [
                        self._store_body(message_for_reader, subscription.incoming)
                        for message_for_reader in matching
                    ],
                )
        if outdated_keys:
            self.blobs.delete(outdated_keys)

    def _list_readers(self, address: str, message: Message) -> list[str]:
        """Return the addresses at which subscriptions receive a message that is put to `address`.

        Only subscriptions declared on this object count. If there are none, `address` itself is
        returned.
        """
        subscriptions = [
            subscription
            for subscription in self._subscriptions.values()
            if subscription.topic == address
        ]
        return [
            subscription.incoming
            for subscription in subscriptions
            if message.is_for(subscription.pipeline)
        ] or [address]

    def receive(self, address: str, count_max: int, wait_s: float) -> list[Delivery]:
        """Lease and return up to `count_max` messages with their complete bodies.

        Waits at most `wait_s` seconds for the first message. While the blob store is unavailable,
        received messages are kept in this process, not released. Releasing them would count as a
        delivery each time. After about twenty deliveries they would be treated as messages that
        crash the process.
        """
        with self._lock:
            waiting = self._waiting.pop(address, [])
        # The blob store may be unavailable for longer than a lease.
        waiting = self._queue.renew(waiting)
        deliveries, kept_deliveries = waiting[:count_max], waiting[count_max:]
        try:
            deliveries = deliveries or self._queue.receive(address, count_max, wait_s)
            restored_deliveries = [
                complete for delivery in deliveries if (complete := self._restore_body(delivery))
            ]
        except BaseException:
            kept_deliveries = deliveries + kept_deliveries
            raise
        finally:
            if kept_deliveries:
                with self._lock:
                    self._waiting.setdefault(address, []).extend(kept_deliveries)
        return restored_deliveries

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Settle messages, then delete the blobs of their bodies.

        In this order, no waiting message is without its body.
        """
        self._queue.settle([_restore_receipt(delivery) for delivery in deliveries])
        keys = [
            item.receipt.key for item in deliveries if isinstance(item.receipt, _DetachedReceipt)
        ]
        if keys:
            self.blobs.delete(keys)

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Make leased messages ready again in the wrapped queue."""
        self._queue.release([_restore_receipt(delivery) for delivery in deliveries])

    def renew(self, deliveries: Sequence[Delivery]) -> list[Delivery]:
        """Renew the leases of messages. Return the messages that are still leased."""
        bare = [_restore_receipt(delivery) for delivery in deliveries]
        renewed_receipts = {bare_delivery.receipt for bare_delivery in self._queue.renew(bare)}
        pairs = zip(deliveries, bare, strict=True)
        return [
            delivery_with_body
            for delivery_with_body, bare_delivery in pairs
            if bare_delivery.receipt in renewed_receipts
        ]

    def get_depth(self, subscription: Subscription) -> Depth:
        """Return the numbers of ready, leased, delayed and quarantined messages of a
        subscription.
        """
        return self._queue.get_depth(subscription)

    def purge(self) -> Sequence[str]:
        """Remove the bytes of deleted messages from the wrapped queue. Return what can remain. The
        blobs with large bodies are purged by their own store.
        """
        return purge(self._queue)

    def close(self) -> None:
        """Close the wrapped queue, if it has a method `close`."""
        close(self._queue)

    def _store_body(self, message: Message, reader: str) -> Message:
        # A message that is put back has a higher number of attempts or deferrals. Its blob must not
        # be the one that is deleted when the received message is settled.
        deferrals = message.headers.get(DEFERRALS, "")
        name_parts = f"{message.id}\n{message.attempt}\n{deferrals}\n"
        digest = hashlib.sha1(name_parts.encode(), usedforsecurity=False)
        digest.update(message.body)
        name = digest.hexdigest()
        key = f"{FOLDER}/{reader}/{name[:2]}/{name[2:4]}/{name}"
        self.blobs.put([Blob(key, message.body, CONTENT_TYPE)])
        return replace(message, body=b"", headers={**message.headers, BODY_BLOB: key})

    def _restore_body(self, delivery: Delivery) -> Delivery | None:
        message = delivery.message
        key = message.headers.get(BODY_BLOB, "")
        if not key.startswith(f"{FOLDER}/{delivery.address}/"):
            # There is no reference, or it is to a blob that this queue may not read and remove.
            return delivery
        body = self.blobs.get(key)
        if body is None:
            logger.warning("%s was delivered again after it was settled", message.id)
            self._queue.settle([delivery])
            return None
        headers = {name: value for name, value in message.headers.items() if name != BODY_BLOB}
        complete = replace(message, body=body, headers=headers)
        return replace(delivery, message=complete, receipt=_DetachedReceipt(delivery.receipt, key))


def _measure_size(message: Message) -> int:
    """Return the size of a message in bytes: its body, id, key and headers, as UTF-8."""
    texts = [message.id, message.key, *message.headers, *message.headers.values()]
    return len(message.body) + sum(len(text.encode("utf-8", "replace")) for text in texts)


@dataclass(frozen=True, slots=True)
class _DetachedReceipt:
    """Receipt, by which a message is settled, of a message whose body is stored as a blob.

    - `receipt`: receipt that the wrapped queue gave.
    - `key`: key of the blob.
    """

    receipt: object
    key: str


def _restore_receipt(delivery: Delivery) -> Delivery:
    """Return the delivered message with the receipt that the wrapped queue gave it."""
    if isinstance(delivery.receipt, _DetachedReceipt):
        return replace(delivery, receipt=delivery.receipt.receipt)
    return delivery
