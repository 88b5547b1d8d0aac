"""List every URL of an application for given values of its parameters."""

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
    """Iterate over all routes of an application, including those of nested routers."""

    def walk(routes: Sequence[Any]) -> Iterator[Any]:
        for route in routes:
            inner = getattr(route, "original_router", None)
            if inner is None:
                yield route
            else:
                yield from walk(inner.routes)

    yield from walk(app.routes)


def paths_of(route: Any, values: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Iterate over the paths of a route for the given parameter values.

    Raises KeyError for a parameter without values: add values for each new parameter.
    """
    names = re.findall(r"{(\w+)[^}]*}", route.path)
    for combination in product(*(values[name] for name in names)):
        path = route.path
        for name, value in zip(names, combination, strict=True):
            path = re.sub(rf"{{{name}[^}}]*}}", lambda _, value=value: value, path)
        yield path


def queries_of(route: APIRoute, values: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Iterate over the query strings of a route: none, then one per value of each parameter.

    Raises KeyError for a parameter without values.
    """
    yield ""
    names = [name for name, _ in _iter_parameters(route.dependant)]
    for name in names:
        yield from (f"?{name}={value}" for value in values[name])


def addresses(
    app: FastAPI, in_path: Mapping[str, Sequence[str]], in_query: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    """Iterate over all URLs that the GET routes serve for the given values."""
    for route in routes_of(app):
        if READING not in (getattr(route, "methods", None) or ()):
            continue
        for path in paths_of(route, in_path):
            if isinstance(route, APIRoute):
                yield from (f"{path}{query}" for query in queries_of(route, in_query))
            else:
                yield path
