"""Error messages for a request parameter that does not exist or has an invalid value.

URLs, command lines and stored searches use the same messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fonds.model.suggestions import find_nearest_name

EXCERPT_CHARS = 100
_CHOICES = re.compile(r"'([^']*)'")
_CLOSED = frozenset({"literal_error", "enum"})


class ParameterError(ValueError):
    """Error for a parameter that does not exist or has an invalid value.

    - `parameter`: name of the parameter.
    - `nearest`: existing name or allowed value that was probably meant; None if none is similar.
    """

    def __init__(self, message: str, parameter: str, nearest: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.nearest = nearest


def build_unknown_parameter(name: str, known_names: Iterable[str]) -> ParameterError:
    """Return the error for a parameter that does not exist.

    `known_names` are the names of all existing parameters.
    """
    names = list(known_names)
    nearest = find_nearest_name(name, names)
    suggestion = f" Did you mean “{nearest}”?" if nearest else ""
    accepted_names = (
        f" Known: {', '.join(names)}." if names else " This address takes no parameters."
    )
    message = f"There is no parameter “{_excerpt(name)}”.{suggestion}{accepted_names}"
    return ParameterError(message, _excerpt(name), nearest)


def build_repeated_parameter(name: str) -> ParameterError:
    """Return the error for a parameter that was given several times but takes one value."""
    return ParameterError(f"The parameter “{name}” is given more than once.", name)


def build_value_error(error: Mapping[str, Any]) -> ParameterError:
    """Return the error for an invalid parameter value, from one error that pydantic reported.

    The message names the parameter and the value. If the parameter has a closed list of values, the
    message also names the most similar allowed value.
    """
    location = error["loc"]
    name = _excerpt(str(location[-1] if len(location) < 3 else location[1]))
    nearest = None
    if error["type"] in _CLOSED:
        choices = _CHOICES.findall(str(error.get("ctx", {}).get("expected", "")))
        nearest = find_nearest_name(str(error.get("input")), choices)
    reason = error["msg"].removeprefix("Value error, ")
    return _build_invalid(name, str(error.get("input")), reason, nearest)


def build_invalid_value(
    name: str, value: str, reason: str, choices: Sequence[str] = ()
) -> ParameterError:
    """Return the error for an invalid value of a parameter.

    `reason` says what is wrong with the value. `choices` are the allowed values if they are a
    closed list.
    """
    return _build_invalid(name, value, reason, find_nearest_name(value, choices))


def _build_invalid(name: str, value: str, reason: str, nearest: str | None) -> ParameterError:
    reason = f"{reason[:1].lower()}{reason[1:]}"
    suggestion = f" Did you mean “{nearest}”?" if nearest else ""
    message = f"The parameter “{name}” is “{_excerpt(value)}”: {reason}.{suggestion}"
    return ParameterError(message, name, nearest)


def _excerpt(text: str) -> str:
    return text if len(text) <= EXCERPT_CHARS else f"{text[: EXCERPT_CHARS - 1].rstrip()}…"
