"""Every route of an application, asked with every value of its parameters that a test has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from fonds.web.serving.parameters import _iter_parameters

READING = "GET"


def routes_of(app: FastAPI) -> Iterator[Any]:
    """The routes themselves, out of the routers they came with."""

    def walk(routes: Sequence[Any]) -> Iterator[Any]:
        for route in routes:
            inner = getattr(route, "original_router", None)
            if inner is None:
                yield route
            else:
                yield from walk(inner.routes)

    yield from walk(app.routes)


def paths_of(route: Any, values: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The addresses of a route with these values in its path. Raises KeyError for a parameter there is none
    of: whoever adds one says what it is asked with."""
    names = re.findall(r"{(\w+)[^}]*}", route.path)
    for some in product(*(values[name] for name in names)):
        path = route.path
        for name, value in zip(names, some, strict=True):
            path = re.sub(rf"{{{name}[^}}]*}}", lambda _, value=value: value, path)
        yield path


def queries_of(route: APIRoute, values: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """What a route is asked beside its path: nothing, and each value of each of its parameters by itself;
    `name` of a search goes with each. Raises KeyError for a parameter there is none of."""
    yield ""
    names = [name for name, _ in _iter_parameters(route.dependant)]
    for name in names:
        yield from (f"?{name}={value}" for value in values[name])


def addresses(
    app: FastAPI, in_path: Mapping[str, Sequence[str]], in_query: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Everything that can be read, asked in every way there are values for."""
    for route in routes_of(app):
        if READING not in (getattr(route, "methods", None) or ()):
            continue
        for path in paths_of(route, in_path):
            if isinstance(route, APIRoute):
                yield from (f"{path}{query}" for query in queries_of(route, in_query))
            else:
                yield path
