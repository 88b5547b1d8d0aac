"""Registry of flavours: all named pipelines, from the constant `FLAVOURS` of every module in this
package.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules

from fonds.model.step import Pipeline, Topic
from fonds.pipelines import flavours

DEFAULT = "library"


def find_flavours() -> dict[str, Callable[[Sequence[str]], Pipeline]]:
    """Return the function that builds each flavour's pipeline, by name of the flavour.

    The default flavour comes first, the others follow in the order of their names.
    Each module of this package declares its flavours in its constant `FLAVOURS`.
    """
    builders: dict[str, Callable[[Sequence[str]], Pipeline]] = {}
    for module in iter_modules(flavours.__path__, f"{flavours.__name__}."):
        if module.name != __name__:
            builders |= getattr(import_module(module.name), "FLAVOURS", {})
    return {
        name: builders[name] for name in sorted(builders, key=lambda name: (name != DEFAULT, name))
    }


PIPELINES: Mapping[str, Callable[[Sequence[str]], Pipeline]] = find_flavours()
"""Function that builds the pipeline of each flavour, by name. Its argument is the list of further
thumbnail formats.
"""


def list_flavours_from(topic: Topic) -> list[str]:
    """Return the names of flavours whose first topic is `topic`."""
    return [name for name, build in PIPELINES.items() if build(()).entry == topic]


def list_stages(name: str) -> list[str]:
    """Return the stage names of a flavour in order. The list is empty for an unknown flavour."""
    build = PIPELINES.get(name)
    return [stage.name for stage in build(()).stages] if build else []
