"""Byte strings with their length before them, over a stream socket."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence

_LENGTH = struct.Struct("!Q")
_MARK = b"d"
DESCRIPTORS_MAX = 4


class FrameTooLargeError(Exception):
    """The other side announces more bytes than allowed; the stream is of no use any more."""


def send_frame(stream: socket.socket, payload: bytes, ends_at: float | None = None) -> None:
    """Send `payload`. `ends_at` is a time of the monotonic clock; None waits for ever.

    Raises TimeoutError when that is past, OSError when the other side is gone.
    """
    stream.settimeout(_left(ends_at))
    stream.sendall(_LENGTH.pack(len(payload)))
    stream.sendall(payload)


def send_descriptors(
    stream: socket.socket, descriptors: Sequence[int], ends_at: float | None = None
) -> None:
    """Hand over open files, or none, ahead of a frame. Raises as `send_frame` does."""
    stream.settimeout(_left(ends_at))
    socket.send_fds(stream, [_MARK], list(descriptors))


def receive_descriptors(stream: socket.socket) -> list[int]:
    """What `send_descriptors` handed over, as numbers of this process. Raises EOFError."""
    stream.settimeout(None)
    try:
        mark, descriptors, _, _ = socket.recv_fds(stream, len(_MARK), DESCRIPTORS_MAX)
    except ConnectionError as error:
        raise EOFError("the other side is gone") from error
    if not mark:
        raise EOFError("the other side is gone")
    return list(descriptors)


def receive_frame(
    stream: socket.socket, size_max_bytes: int | None = None, ends_at: float | None = None
) -> bytearray:
    """The next payload. Raises EOFError when the other side is gone, TimeoutError after `ends_at`,
    FrameTooLargeError for more than `size_max_bytes`."""
    (size,) = _LENGTH.unpack(receive_exactly(stream, _LENGTH.size, ends_at))
    if size_max_bytes is not None and size > size_max_bytes:
        raise FrameTooLargeError(f"{size} bytes announced, {size_max_bytes} allowed")
    return receive_exactly(stream, size, ends_at)


def receive_exactly(
    stream: socket.socket, size_bytes: int, ends_at: float | None = None
) -> bytearray:
    """That many bytes. Raises EOFError and TimeoutError as `receive_frame` does."""
    data = bytearray(size_bytes)
    view = memoryview(data)
    filled = 0
    while filled < size_bytes:
        stream.settimeout(_left(ends_at))
        try:
            count = stream.recv_into(view[filled:])
        except ConnectionError as error:
            raise EOFError("the other side is gone") from error
        if count == 0:
            raise EOFError("the other side is gone")
        filled += count
    return data


def _left(ends_at: float | None) -> float | None:
    if ends_at is None:
        return None
    left = ends_at - time.monotonic()
    if left <= 0:
        raise TimeoutError("the time is up")
    return left
