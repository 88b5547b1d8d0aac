"""What is written to standard output and standard error, whatever the encoding of the terminal."""

from __future__ import annotations

import io
import sys


def write_any_text() -> None:
    """From now on a character that the encoding of the terminal lacks is written as an escape, as is a byte
    of a path that is no UTF-8; without it the command ends there."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_line(line: bytes) -> None:
    """A line of standard output as these bytes, also where the terminal has another encoding than UTF-8."""
    sys.stdout.flush()
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()
