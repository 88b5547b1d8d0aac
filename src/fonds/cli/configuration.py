"""`fonds configuration`: named settings for how collections are grouped."""

from __future__ import annotations

from typing import Annotated, Any

import click
import msgspec
from msgspec import Meta
from rich.markup import escape
from rich.table import Table

from fonds.cli.acts import record_act
from fonds.cli.collection_arguments import convert_usage_errors, parse_name
from fonds.cli.context import App, build_global_options, command, echo_json, open_console
from fonds.cli.json_answers import build_answer, define_answer
from fonds.cli.names import CommandGroup
from fonds.grouping import configuration as configurations
from fonds.grouping.names import validate_conf
from fonds.model.suggestions import format_unknown_name
from fonds.stores.home_lock import create_home
from fonds.wiring.collections import open_tables


@click.group("configuration", cls=CommandGroup)
@click.pass_context
def configuration(ctx: click.Context, /, **flags: Any) -> None:
    """Manage configurations, which say how collections are grouped.

    NAME is NAMESPACE/CONFIGURATION. Each namespace has a configuration DEFAULT.

    \b
    fonds configuration set news/stories algorithm=stories threshold=0.35
    fonds configuration set news/DEFAULT clusters=12 granularities=4,50 every_s=86400
    fonds configuration show news/DEFAULT
    fonds configuration list news
    """
    ctx.obj = ctx.obj.with_flags(**flags)


configuration.params += build_global_options()


class ConfigurationName(msgspec.Struct, frozen=True):
    """Name of a grouping configuration, as the first field of a JSON answer."""

    name: Annotated[str, Meta(description="name of the configuration")]


ConfigurationAnswer = define_answer(
    "ConfigurationAnswer", ConfigurationName, configurations.Configuration
)
"""JSON answer: a grouping configuration with its name."""


class RemovedConfigurationAnswer(msgspec.Struct, frozen=True):
    """JSON answer: a grouping configuration that was deleted."""

    removed: Annotated[str, Meta(description="name of the configuration")]


@command("list", answers={"one for each configuration": ConfigurationAnswer})
@click.argument("namespace")
def list_(app: App, namespace: str) -> int:
    """List the configurations of a namespace.

    \b
    fonds configuration list news
    """
    confs = configurations.list_configurations(
        open_tables(app.open_stores(), app.load_settings()), namespace
    )
    table = Table("Name", "Algorithm", "Changed parameters", box=None, pad_edge=False)
    default_values = configurations.build_values(configurations.Configuration())
    for name, conf in sorted(confs.items()):
        values = configurations.build_values(conf)
        if app.is_json:
            echo_json(build_answer(ConfigurationAnswer, conf, name=name))
            continue
        changed_values = [
            f"{key}={value}" for key, value in values.items() if value != default_values[key]
        ]
        table.add_row(escape(name), conf.algorithm, escape(", ".join(changed_values)))
    if not app.is_json:
        open_console().print(table)
    return 0


@command("show", answers={"one": ConfigurationAnswer})
@click.argument("name")
def show(app: App, name: str) -> int:
    """Show all parameters of a configuration.

    \b
    fonds configuration show news/DEFAULT
    """
    conf_name = parse_name(name)
    with convert_usage_errors():
        tables = open_tables(app.open_stores(), app.load_settings())
        conf = configurations.get(tables, conf_name.namespace, conf_name.key)
    if app.is_json:
        echo_json(build_answer(ConfigurationAnswer, conf, name=conf_name.key))
        return 0
    table = Table(box=None, pad_edge=False, show_header=False)
    for key, value in configurations.build_values(conf).items():
        table.add_row(
            key, escape("never" if value is None and key in NEVER else _format_value(value))
        )
    open_console().print(table)
    return 0


NEVER = ("growth_max", "outliers_factor", "unknown_max", "every_s")


@command("set", answers={"one": ConfigurationAnswer})
@click.argument("name")
@click.argument("values", nargs=-1, required=True, metavar="PARAMETER=VALUE…")
def set_(app: App, name: str, values: tuple[str, ...]) -> int:
    """Create a configuration, or change its parameters.

    Separate the items of a list by commas. `none` means an empty list or no value.

    \b
    fonds configuration set news/stories algorithm=stories half_life_s=86400
    fonds configuration set news/DEFAULT languages=en,de clusters=none
    """
    conf_name = parse_name(name)
    create_home(app.home)
    stores = app.open_stores(create=True)
    tables = open_tables(stores, app.load_settings())
    description = f"fonds configuration set {name} {' '.join(values)}"
    with record_act(stores.records, description), convert_usage_errors():
        validate_conf(conf_name.key)
        existing = configurations.list_configurations(tables, conf_name.namespace).get(
            conf_name.key
        )
        conf = configurations.build_configuration(dict(map(_parse_pair, values)), existing)
        configurations.save_configuration(tables, conf_name.namespace, conf_name.key, conf)
    if app.is_json:
        echo_json(build_answer(ConfigurationAnswer, conf, name=conf_name.key))
        return 0
    open_console().print(f"{escape(name)} saved. The next rebuild uses it.")
    return 0


@command("remove", answers={"one": RemovedConfigurationAnswer})
@click.argument("name")
def remove(app: App, name: str) -> int:
    """Delete a configuration.

    Clusterings built with it are kept but no longer rebuilt. DEFAULT is reset to its initial
    values.

    \b
    fonds configuration remove news/stories
    """
    conf_name = parse_name(name)
    stores = app.open_stores()
    tables = open_tables(stores, app.load_settings())
    with record_act(stores.records, f"fonds configuration remove {name}"):
        if not configurations.remove(tables, conf_name.namespace, conf_name.key):
            names = configurations.list_configurations(tables, conf_name.namespace)
            raise click.UsageError(format_unknown_name("configuration", conf_name.key, names))
    if app.is_json:
        echo_json(RemovedConfigurationAnswer(conf_name.key))
        return 0
    open_console().print(f"{escape(name)} deleted.")
    return 0


for each in (list_, show, set_, remove):
    configuration.add_command(each)


def _parse_pair(word: str) -> tuple[str, object]:
    name, equals, value = word.partition("=")
    if not equals:
        raise ValueError(f"{word!r} is invalid. Write PARAMETER=VALUE.")
    return name, configurations.read_value(name, value)


def _format_value(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)
