"""What is written to standard error beside answers, warnings and faults, without users and passwords."""

from __future__ import annotations

import io
import logging
import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING

from fonds.model.secrets import redact_secrets

if TYPE_CHECKING:
    from rich.console import Console


def log_plainly() -> None:
    """From now on warnings are lines on standard error, and a fault of ours is shown as Python shows it."""
    logging.basicConfig(
        level=logging.WARNING, format="%(levelname)s %(message)s", stream=sys.stderr
    )
    for handler in logging.getLogger().handlers:
        handler.addFilter(hide_secrets)
    sys.excepthook = _log_fault
    threading.excepthook = _log_thread_fault


def log_above(console: Console) -> None:
    """From now on warnings are lines above what is shown on this console."""
    from rich.highlighter import NullHighlighter
    from rich.logging import RichHandler

    handler = RichHandler(
        console=console, show_path=False, highlighter=NullHighlighter(), rich_tracebacks=False
    )
    handler.addFilter(hide_secrets)
    logging.getLogger().handlers = [handler]


def hide_secrets(record: logging.LogRecord) -> bool:
    """Hide users and passwords in all that is logged, tracebacks included; nothing is kept back for it."""
    record.msg, record.args = redact_secrets(record.getMessage()), ()
    for name, value in vars(record).items():
        if isinstance(value, str) and name != "msg":
            setattr(record, name, redact_secrets(value))
    if record.exc_info:
        # Formatted here, it is not formatted again.
        record.exc_text = redact_secrets(logging.Formatter().formatException(record.exc_info))
    return True


def _log_fault(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> None:
    from traceback import format_exception

    sys.stderr.write(redact_secrets("".join(format_exception(kind, error, trace))))


def _log_thread_fault(args: threading.ExceptHookArgs) -> None:
    _log_fault(args.exc_type, args.exc_value, args.exc_traceback)


# What is written to standard output and standard error, whatever the encoding of the terminal.


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
