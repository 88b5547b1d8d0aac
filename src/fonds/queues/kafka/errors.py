"""Translate errors of the Kafka client to Fonds errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaError, KafkaException

from fonds.model.errors import (
    ConfigurationError,
    FondsError,
    StoreUnavailableError,
)

_REFUSED = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError._INVALID_ARG,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.INVALID_REPLICATION_FACTOR,
        KafkaError.INVALID_PARTITIONS,
        KafkaError.INVALID_CONFIG,
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
    }
)

REBALANCE_CODES = frozenset(
    {
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.FENCED_INSTANCE_ID,
        KafkaError._STATE,
        KafkaError._NO_OFFSET,
    }
)
"""A commit failed because the member was removed from the group or is being reassigned.

Its leased messages are delivered to the new owner of the partition.
"""


def explain_error(error: KafkaError, broker_name: str) -> FondsError:
    """Return ConfigurationError for what a person must fix, otherwise StoreUnavailableError."""
    if error.code() in _REFUSED:
        return ConfigurationError(f"Kafka at {broker_name} refuses: {error.str()}")
    return StoreUnavailableError(f"Kafka at {broker_name} does not answer: {error.str()}")


def explain_undelivered(error: KafkaError, topic: str, broker_name: str) -> FondsError:
    """Explain a failed record as `explain_error` does, for a producer that is still alive.

    Such a producer reports a destroyed record only when its partition was deleted, along with its
    topic.
    """
    if error.code() == KafkaError._DESTROY:
        return ConfigurationError(f"Kafka at {broker_name} refuses: the topic {topic} was deleted")
    return explain_error(error, broker_name)


@contextmanager
def translate_errors(broker_name: str) -> Iterator[None]:
    """Translate the client's errors to Fonds errors."""
    try:
        yield
    except KafkaException as error:
        raise explain_error(error.args[0], broker_name) from error
    except TimeoutError as error:
        raise StoreUnavailableError(f"Kafka at {broker_name} does not answer") from error
