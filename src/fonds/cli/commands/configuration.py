"""`fonds configuration`: how collections are grouped, by name."""

from __future__ import annotations

from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from fonds.cli.collections.asking import named, usage
from fonds.cli.context import App, command, console, echo_json, global_options
from fonds.cli.names import Commands
from fonds.cli.working.noted import noted
from fonds.collections import configurations
from fonds.collections.names import checked_conf
from fonds.model.names import no_such
from fonds.runtime.homelock import make_home
from fonds.wiring.recurring.collections import open_tables


@click.group("configuration", cls=Commands)
@click.pass_context
def configuration(ctx: click.Context, /, **flags: Any) -> None:
    """Say how collections are grouped: NAME is NAMESPACE/CONFIGURATION; DEFAULT is there in each.

    \b
    fonds configuration set news/stories algorithm=stories threshold=0.35
    fonds configuration set news/DEFAULT clusters=12 granularities=4,50 every_s=86400
    fonds configuration show news/DEFAULT
    fonds configuration list news
    """
    ctx.obj = ctx.obj.with_flags(**flags)


configuration.params += global_options()


@command("list")
@click.argument("namespace")
def list_(app: App, namespace: str) -> int:
    """Name the configurations of a namespace.

    \b
    fonds configuration list news
    """
    found = configurations.every(open_tables(app.stores(), app.settings()), namespace)
    table = Table("Name", "Algorithm", "Differs", box=None, pad_edge=False)
    usual = configurations.as_values(configurations.Configuration())
    for name, one in sorted(found.items()):
        values = configurations.as_values(one)
        if app.json:
            echo_json({"name": name, **values})
            continue
        other = [f"{key}={value}" for key, value in values.items() if value != usual[key]]
        table.add_row(escape(name), one.algorithm, escape(", ".join(other)))
    if not app.json:
        console().print(table)
    return 0


@command("show")
@click.argument("name")
def show(app: App, name: str) -> int:
    """Show all parameters of one.

    \b
    fonds configuration show news/DEFAULT
    """
    where = named(name)
    with usage():
        tables = open_tables(app.stores(), app.settings())
        found = configurations.get(tables, where.namespace, where.key)
    if app.json:
        echo_json({"name": where.key, **configurations.as_values(found)})
        return 0
    table = Table(box=None, pad_edge=False, show_header=False)
    for key, value in configurations.as_values(found).items():
        table.add_row(key, escape("never" if value is None and key in NEVER else _shown(value)))
    console().print(table)
    return 0


NEVER = ("growth_max", "outliers_factor", "unknown_max", "every_s")


@command("set")
@click.argument("name")
@click.argument("values", nargs=-1, required=True, metavar="PARAMETER=VALUE…")
def set_(app: App, name: str, values: tuple[str, ...]) -> int:
    """Make a configuration, or change parameters of one. Lists have commas between; none is nothing.

    \b
    fonds configuration set news/stories algorithm=stories half_life_s=86400
    fonds configuration set news/DEFAULT languages=en,de clusters=none
    """
    where = named(name)
    make_home(app.home)
    stores = app.stores(make=True)
    tables = open_tables(stores, app.settings())
    said = f"fonds configuration set {name} {' '.join(values)}"
    with noted(stores.records, said), usage():
        checked_conf(where.key)
        known = configurations.every(tables, where.namespace).get(where.key)
        made = configurations.configuration(dict(map(_pair, values)), known)
        configurations.put(tables, where.namespace, where.key, made)
    if app.json:
        echo_json({"name": where.key, **configurations.as_values(made)})
        return 0
    console().print(f"{escape(name)} is kept; the next rebuild goes by it.")
    return 0


@command("remove")
@click.argument("name")
def remove(app: App, name: str) -> int:
    """Forget a configuration; what was built by it stays, and is rebuilt no more. DEFAULT is as at first.

    \b
    fonds configuration remove news/stories
    """
    where = named(name)
    stores = app.stores()
    tables = open_tables(stores, app.settings())
    with noted(stores.records, f"fonds configuration remove {name}"):
        if not configurations.remove(tables, where.namespace, where.key):
            names = configurations.every(tables, where.namespace)
            raise click.UsageError(no_such("configuration", where.key, names))
    if app.json:
        echo_json({"removed": where.key})
        return 0
    console().print(f"{escape(name)} is forgotten.")
    return 0


for each in (list_, show, set_, remove):
    configuration.add_command(each)


def _pair(word: str) -> tuple[str, object]:
    name, equals, value = word.partition("=")
    if not equals:
        raise ValueError(f"{word!r}: write it as PARAMETER=VALUE")
    return name, configurations.read_value(name, value)


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
