"""Publish messages to RabbitMQ in batches that the broker confirms.

Messages that no queue accepts are reported as errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

import pika
from pika.channel import Channel
from pika.spec import Basic

from fonds.model.errors import ConfigurationError, StoreUnavailableError
from fonds.queues.rabbit.amqp_tables import Properties
from fonds.queues.rabbit.connection import BrokerConnection, fail, succeed


class Outbox:
    """RabbitMQ channel on which the broker confirms each published message."""

    def __init__(self, link: BrokerConnection) -> None:
        self._link = link
        self._published = 0
        self._batches: dict[int, _ConfirmBatch] = {}
        self._channel: Channel = link.run(self._open)

    def publish(
        self,
        exchange: str,
        routing_key: str,
        messages: Sequence[tuple[Properties, bytes, bool]],
    ) -> None:
        """Publish messages to an exchange, and wait until the broker has confirmed them.

        Each message is (properties, body, whether a queue must accept it). Raises
        ConfigurationError if no queue accepts a message that a queue must accept. Raises
        StoreUnavailableError if the broker rejects a message or does not answer.
        """

        def act(_: pika.SelectConnection, future: Future[None]) -> None:
            batch = _ConfirmBatch(future, len(messages))
            for properties, body, mandatory in messages:
                self._published += 1
                self._batches[self._published] = batch
                self._channel.basic_publish(
                    exchange, routing_key, body, properties, mandatory=mandatory
                )

        self._link.run(act)

    def _open(self, connection: pika.SelectConnection, future: Future[Channel]) -> None:
        def opened(channel: Channel) -> None:
            channel.add_on_close_callback(self._on_closed)
            channel.add_on_return_callback(self._on_returned)
            channel.confirm_delivery(
                self._on_confirmed, callback=lambda _: succeed(future, channel)
            )

        connection.channel(on_open_callback=opened)

    def _on_confirmed(self, frame: pika.frame.Method[Basic.Ack | Basic.Nack]) -> None:
        method = frame.method
        last = method.delivery_tag
        tags = [tag for tag in self._batches if tag <= last] if method.multiple else [last]
        for tag in tags:
            batch = self._batches.pop(tag)
            if isinstance(method, Basic.Nack):
                fail(
                    batch.future,
                    StoreUnavailableError("RabbitMQ does not accept messages at the moment"),
                )
            batch.remaining -= 1
            if not batch.remaining:
                succeed(batch.future, None)

    def _on_returned(
        self, channel: Channel, method: Basic.Return, properties: pika.BasicProperties, body: bytes
    ) -> None:
        """Handle a message that no queue accepted: mark the batch that contains it as failed.

        The broker returns such a message before it confirms it. So the message belongs to the
        oldest batch that is not confirmed.
        """
        target = method.exchange or method.routing_key
        error = ConfigurationError(f"no queue is bound for {target!r} ({method.reply_text})")
        for batch in self._batches.values():
            fail(batch.future, error)
            break

    def _on_closed(self, channel: Channel, reason: Exception) -> None:
        for batch in self._batches.values():
            fail(batch.future, reason)
        self._batches.clear()

    @property
    def is_closed(self) -> bool:
        """Whether the RabbitMQ channel for publishing is closed."""
        return not self._channel.is_open


class _ConfirmBatch:
    """Messages that are published to RabbitMQ together.

    - `future`: completed when the broker has confirmed all these messages.
    - `remaining`: number of messages that are not confirmed yet.
    """

    def __init__(self, future: Future[None], remaining: int) -> None:
        self.future = future
        self.remaining = remaining
