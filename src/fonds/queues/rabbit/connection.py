"""Connection to RabbitMQ. A separate thread keeps it alive while steps run for a long time.

Only this thread uses the library pika. Other threads pass functions to it and wait for their
results.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, TypeVar

import pika
import pika.exceptions

from fonds.model.errors import ConfigurationError, StoreUnavailableError

RESPONSE_TIMEOUT_S = 30.0
T = TypeVar("T")
REFUSED = (
    pika.exceptions.ProbableAuthenticationError,
    pika.exceptions.ProbableAccessDeniedError,
    pika.exceptions.AuthenticationError,
)


class BrokerConnection:
    """Connection to RabbitMQ, with its own thread. It is open, or permanently closed.

    To reconnect, callers create a new connection.
    """

    def __init__(self, parameters: pika.URLParameters) -> None:
        """Connect to RabbitMQ.

        Raises StoreUnavailableError if the broker does not answer within `RESPONSE_TIMEOUT_S`
        seconds, and ConfigurationError if it refuses the login or the virtual host.
        """
        self._broker_name = f"RabbitMQ at {parameters.host}:{parameters.port}"
        self._ended: Exception | None = None
        self._waiting: set[Future[Any]] = set()
        open_future: Future[None] = Future()
        self._connection = pika.SelectConnection(
            parameters,
            on_open_callback=lambda _: open_future.set_result(None),
            on_open_error_callback=lambda _, error: self._end(error, open_future),
            on_close_callback=lambda _, error: self._end(error),
        )
        _join_frames(self._connection)
        self._thread = threading.Thread(target=self._run, name="rabbitmq", daemon=True)
        self._thread.start()
        self._await(open_future)

    @property
    def is_closed(self) -> bool:
        """Whether the connection to RabbitMQ has ended."""
        return self._ended is not None

    @property
    def version(self) -> tuple[int, ...]:
        """Version of the RabbitMQ broker, such as (3, 13, 7).

        An unreadable version becomes (99,), so that it counts as newer than any other.
        """
        version_text = str((self._connection.server_properties or {}).get("version", ""))
        words = version_text.partition("-")[0].split(".")
        return (
            tuple(int(word) for word in words)
            if version_text and all(map(str.isdecimal, words))
            else (99,)
        )

    def run(self, act: Callable[[pika.SelectConnection, Future[T]], None]) -> T:
        """Call `act` in the thread of the RabbitMQ connection, and return the result that `act`
        sets on its future.

        `act` gets the connection and the future. Raises StoreUnavailableError if the connection
        ends, or if there is no result within `RESPONSE_TIMEOUT_S` seconds. Raises
        ConfigurationError if the broker refuses the login.
        """
        future: Future[T] = Future()

        def run() -> None:
            if self._ended is not None:
                fail(future, self._ended)
                return
            self._waiting.add(future)
            future.add_done_callback(self._waiting.discard)
            try:
                act(self._connection, future)
            except Exception as error:  # noqa: BLE001 (passed to the waiting thread)
                fail(future, error)

        try:
            self._connection.ioloop.add_callback_threadsafe(run)
        except (RuntimeError, OSError, AttributeError) as error:
            raise self._build_unavailable_error(error) from error
        return self._await(future)

    def schedule(self, act: Callable[[], None]) -> None:
        """Let the thread of the RabbitMQ connection call `act` soon, and return at once.

        Does nothing if the connection is closed.
        """
        if not self.is_closed:
            self._connection.ioloop.add_callback_threadsafe(act)

    def close(self) -> None:
        """Close the connection to RabbitMQ, and wait for its thread to end.

        The broker delivers unsettled messages to other consumers immediately.
        """

        def shut() -> None:
            if self._connection.is_open:
                self._connection.close()

        self.schedule(shut)
        self._thread.join(RESPONSE_TIMEOUT_S)

    def _await(self, future: Future[T]) -> T:
        try:
            return future.result(RESPONSE_TIMEOUT_S)
        except FutureTimeoutError as error:
            # The request may still take effect; readers are idempotent.
            self.schedule(self._connection.ioloop.stop)
            raise self._build_unavailable_error("no response") from error
        except REFUSED as error:
            raise ConfigurationError(
                f"{self._broker_name} refuses the user, the password or the virtual host"
                f" ({type(error).__name__})"
            ) from error
        except (pika.exceptions.AMQPError, OSError) as error:
            raise self._build_unavailable_error(error) from error

    def _build_unavailable_error(self, error: object) -> StoreUnavailableError:
        detail = str(error) or type(error).__name__
        return StoreUnavailableError(f"{self._broker_name} does not answer: {detail[:300]}")

    def _run(self) -> None:
        try:
            self._connection.ioloop.start()
        except Exception as error:  # noqa: BLE001 (passed to all waiting threads)
            self._end(error)
        finally:
            if self._ended is None:
                self._end(ConnectionError("the connection was closed"))
            self._connection.ioloop.close()

    def _end(self, error: BaseException, open_future: Future[None] | None = None) -> None:
        self._ended = error if isinstance(error, Exception) else ConnectionError(str(error))
        for future in [*self._waiting, *([open_future] if open_future else [])]:
            fail(future, self._ended)
        self._connection.ioloop.stop()


def _join_frames(connection: Any) -> None:
    """Make the library pika send the frames of a message together.

    Pika sends each of the three frames with a system call of its own, which takes a quarter of
    the CPU time of publishing a message of 1 kB.
    """
    send_frames = connection._output_marshaled_frames
    connection._output_marshaled_frames = lambda frames: send_frames([b"".join(frames)])


def fail(future: Future[Any], error: BaseException) -> None:
    """Set the exception of a future, unless the future is completed already."""
    if not future.done():
        future.set_exception(error)


def succeed(future: Future[T], value: T) -> None:
    """Set the result of a future, unless the future is completed already."""
    if not future.done():
        future.set_result(value)
