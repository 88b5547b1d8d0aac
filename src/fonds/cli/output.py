"""Logging and output of commands: passwords are hidden, and every character can be written."""

from __future__ import annotations

import io
import logging
import sys
import threading
from traceback import format_exception
from types import TracebackType
from typing import TYPE_CHECKING

from fonds.model.secrets import redact_secrets

if TYPE_CHECKING:
    from rich.console import Console


def log_plainly() -> None:
    """Set up logging for commands: warnings go to standard error as lines, and uncaught exceptions
    are printed.

    Passwords in both are hidden.
    """
    logging.basicConfig(
        level=logging.WARNING, format="%(levelname)s %(message)s", stream=sys.stderr
    )
    for handler in logging.getLogger().handlers:
        handler.addFilter(hide_secrets)
    sys.excepthook = _log_fault
    threading.excepthook = _log_thread_fault


def log_above(console: Console) -> None:
    """Log warnings above the live view on a console, instead of on standard error."""
    # Imported here because rich is slow to import.
    from rich.highlighter import NullHighlighter
    from rich.logging import RichHandler

    handler = RichHandler(
        console=console, show_path=False, highlighter=NullHighlighter(), rich_tracebacks=False
    )
    handler.addFilter(hide_secrets)
    logging.getLogger().handlers = [handler]


def hide_secrets(record: logging.LogRecord) -> bool:
    """Hide users and passwords in the message and traceback of a log record. Logging filter.

    Returns True, so that the record is always logged.
    """
    record.msg, record.args = redact_secrets(record.getMessage()), ()
    for name, value in vars(record).items():
        if isinstance(value, str) and name != "msg":
            setattr(record, name, redact_secrets(value))
    if record.exc_info:
        # A logging handler uses this text and does not format the exception again.
        record.exc_text = redact_secrets(logging.Formatter().formatException(record.exc_info))
    return True


def _log_fault(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> None:

    sys.stderr.write(redact_secrets("".join(format_exception(kind, error, trace))))


def _log_thread_fault(args: threading.ExceptHookArgs) -> None:
    _log_fault(args.exc_type, args.exc_value, args.exc_traceback)


def write_any_text() -> None:
    """Let standard output and error escape characters that the terminal's encoding lacks.

    Bytes of paths that are not UTF-8 are escaped too. Otherwise such a character would end the
    command with an error.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_line(line: bytes) -> None:
    """Write a line of bytes to standard output, whatever the terminal's encoding."""
    sys.stdout.flush()
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()
