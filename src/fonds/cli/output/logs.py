"""What is written to standard error beside answers, warnings and faults, without users and passwords."""

from __future__ import annotations

import logging
import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING

from fonds.model.secrets import without_secrets

if TYPE_CHECKING:
    from rich.console import Console


def log_plainly() -> None:
    """From now on warnings are lines on standard error, and a fault of ours is shown as Python shows it."""
    logging.basicConfig(
        level=logging.WARNING, format="%(levelname)s %(message)s", stream=sys.stderr
    )
    for handler in logging.getLogger().handlers:
        handler.addFilter(hide_secrets)
    sys.excepthook = _show_fault
    threading.excepthook = _show_thread_fault


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
    record.msg, record.args = without_secrets(record.getMessage()), ()
    for name, value in vars(record).items():
        if isinstance(value, str) and name != "msg":
            setattr(record, name, without_secrets(value))
    if record.exc_info:
        # Formatted here, it is not formatted again.
        record.exc_text = without_secrets(logging.Formatter().formatException(record.exc_info))
    return True


def _show_fault(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> None:
    from traceback import format_exception

    sys.stderr.write(without_secrets("".join(format_exception(kind, error, trace))))


def _show_thread_fault(told: threading.ExceptHookArgs) -> None:
    _show_fault(told.exc_type, told.exc_value, told.exc_traceback)
