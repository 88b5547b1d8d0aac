"""Options of `fonds search` and `fonds export`, built from the parameters of a search request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from fonds.model.document import DateOf
from fonds.model.file import SEARCHED_KINDS
from fonds.model.parameter_errors import ParameterError
from fonds.model.suggestions import format_alternatives
from fonds.search.request import FILTERS, PARAMETERS, SearchRequest, parse_request

CHOICES: Mapping[str, Sequence[str]] = {
    "kind": [str(kind) for kind in SEARCHED_KINDS],
    "dates": [str(date_kind) for date_kind in DateOf],
}
METAVARS = {
    "kind": "KIND",
    "language": "CODE",
    "domain": "DOMAIN",
    "collection": "NAME",
    "from": "YYYY-MM-DD",
    "to": "YYYY-MM-DD",
    "alike": "ID",
}


class RequestChoice(click.Choice[str]):
    """Click parameter type that shows the choices of a search parameter, but accepts any value.

    `parse_request` checks the value later, with the same error as on the web.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value as text, without checking it."""
        return str(value)


def search_options(
    *names: str, further_kinds: Sequence[str] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds an option for each named search parameter, in this order.

    `further_kinds` are additional choices of `--kind`.
    """

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            function = _build_option(name, further_kinds if name == "kind" else ())(function)
        return function

    return add


def _build_option(
    name: str, further_choices: Sequence[str]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    parameter = PARAMETERS[name]
    if parameter.is_flag:
        return click.option(f"--{name}", is_flag=True, help=f"{parameter.description}.")
    choices = [*CHOICES.get(name, parameter.choices), *further_choices]
    default = str(parameter.default) if isinstance(parameter.default, str) else None
    description = (
        f"{format_alternatives(choices)}; repeat for alternatives" if name == "kind" else None
    )
    return click.option(
        f"--{name}",
        f"{name}_" if name == "from" else name,
        multiple=parameter.is_list,
        type=RequestChoice(choices) if choices else str,
        default=default or None,
        show_default=bool(default),
        metavar=METAVARS.get(name),
        help=f"{description or parameter.description}.",
    )


def build_request(
    words: Sequence[str], options: Mapping[str, Any], **other_parameters: str
) -> SearchRequest:
    """Return the search request for the words and options of a command line.

    Raises click.UsageError for an invalid value.
    """
    parameters: dict[str, str | Sequence[str]] = {"q": " ".join(words), **other_parameters}
    for name in (*FILTERS[1:], "sort"):
        value = options.get("from_" if name == "from" else name)
        if value:
            parameters[name] = "1" if value is True else value
    try:
        return parse_request(parameters)
    except ParameterError as error:
        raise click.UsageError(str(error)) from error


def format_options(request: SearchRequest) -> list[str]:
    """Return the command-line options that repeat the filters and order of a search request.

    The search words are not included.
    """
    options = []
    for name, value in request.build_params().items():
        if name not in FILTERS[1:] and name != "sort":
            continue
        if name == "undated":
            options.append("--undated")
            continue
        for item in value if isinstance(value, list) else [value]:
            options += [f"--{name}", str(item)]
    return options
