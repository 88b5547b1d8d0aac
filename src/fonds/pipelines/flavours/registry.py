"""Flavours by name, from the `FLAVOURS` of every module in this package."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules

from fonds.model.step import Pipeline, Topic
from fonds.pipelines import flavours

DEFAULT = "library"


def find_flavours() -> dict[str, Callable[[Sequence[str]], Pipeline]]:
    """Return the builders of all flavours: the default one first, then by name.

    A module of this package declares its flavours in `FLAVOURS`.
    """
    builders: dict[str, Callable[[Sequence[str]], Pipeline]] = {}
    for module in iter_modules(flavours.__path__, f"{flavours.__name__}."):
        if module.name != __name__:
            builders |= getattr(import_module(module.name), "FLAVOURS", {})
    return {
        name: builders[name] for name in sorted(builders, key=lambda name: (name != DEFAULT, name))
    }


PIPELINES: Mapping[str, Callable[[Sequence[str]], Pipeline]] = find_flavours()
"""The builder of each flavour. Its argument is the list of further thumbnail formats."""


def list_flavours_from(topic: Topic) -> list[str]:
    """Return the flavours whose entries go to this topic."""
    return [name for name, build in PIPELINES.items() if build(()).entry == topic]


def list_stages(name: str) -> list[str]:
    """Return the stage names of a flavour in order. An unknown flavour has none."""
    build = PIPELINES.get(name)
    return [stage.name for stage in build(()).stages] if build else []
