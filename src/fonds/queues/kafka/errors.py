"""Translate errors of the Kafka client to Fonds errors."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

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
"""Codes of failed offset commits after which the Kafka partition belongs to another member of the
group.

The new member receives the messages that this process had leased.
"""


_ELECTION_CODES = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
"""Codes of Kafka errors that end when another broker has taken over a partition or a consumer
group.
"""

_ELECTION_RECHECK_S = 0.1
_Result = TypeVar("_Result")


def retry_during_election(request: Callable[[], _Result], duration_max_s: float) -> _Result:
    """Call `request` and return its result. Repeat the call while another Kafka broker becomes
    leader.

    Kafka answers with an error while another broker takes over a partition or a consumer group. The
    calls are repeated for at most `duration_max_s` seconds. Raises KafkaException for all other
    errors, and for an election that takes longer.
    """
    deadline = time.monotonic() + duration_max_s
    while True:
        try:
            return request()
        except KafkaException as error:
            if error.args[0].code() not in _ELECTION_CODES or time.monotonic() > deadline:
                raise
        time.sleep(_ELECTION_RECHECK_S)


def explain_error(error: KafkaError, broker_name: str) -> FondsError:
    """Return the Fonds error for an error of the Kafka client.

    It is a ConfigurationError if a person must fix the cause, such as a wrong password or topic.
    Otherwise it is a StoreUnavailableError, after which a retry may succeed.
    """
    if error.code() in _REFUSED:
        return ConfigurationError(f"Kafka at {broker_name} refuses: {error.str()}")
    return StoreUnavailableError(f"Kafka at {broker_name} does not answer: {error.str()}")


def explain_undelivered(error: KafkaError, topic: str, broker_name: str) -> FondsError:
    """Return the Fonds error for a record that a Kafka producer could not deliver.

    A producer that still works reports a destroyed record only if the partition was deleted along
    with its topic. For a destroyed record, return a ConfigurationError that names `topic`. For all
    other errors, return the result of `explain_error`.
    """
    if error.code() == KafkaError._DESTROY:
        return ConfigurationError(f"Kafka at {broker_name} refuses: the topic {topic} was deleted")
    return explain_error(error, broker_name)


@contextmanager
def translate_errors(broker_name: str) -> Iterator[None]:
    """Context manager that translates exceptions of the Kafka client within it.

    A KafkaException becomes a ConfigurationError if a person must fix the cause, otherwise a
    StoreUnavailableError. A TimeoutError becomes a StoreUnavailableError.
    """
    try:
        yield
    except KafkaException as error:
        raise explain_error(error.args[0], broker_name) from error
    except TimeoutError as error:
        raise StoreUnavailableError(f"Kafka at {broker_name} does not answer") from error
