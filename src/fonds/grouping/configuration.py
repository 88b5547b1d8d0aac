"""Configurations: how a collection of documents is grouped, and when it is rebuilt.

Configurations are stored in the table `configurations`, by namespace and name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from fonds.grouping.checksums import build_checksum_cell
from fonds.grouping.columns import Column
from fonds.grouping.names import DEFAULT, CollectionName, validate_conf, validate_name
from fonds.grouping.register import build_register_cells, build_register_row
from fonds.grouping.stored.dense_vectors import NUMBERS_MAX
from fonds.grouping.stored.keys import build_collection_row, build_namespace_prefix
from fonds.grouping.tables import (
    CONFIGURATIONS,
    REGISTER,
    Cells,
    Tables,
    decode_cell,
    encode_json,
)
from fonds.model.encoding import EXACT_MAX, prepare_type
from fonds.model.errors import DamagedRowError
from fonds.model.suggestions import UnknownNameError, format_unknown_name

ALGORITHMS = ("topics", "stories", "factors", "density")
ENCODERS = ("minilm",)
CLUSTERS_MAX = 2000
GRANULARITIES_MAX = 10


@dataclass(frozen=True, slots=True)
class Configuration:
    """Configuration of a grouping: algorithm, parameters, filters and schedule.

    `clusters`: number of clusters; null lets the algorithm choose, up to `clusters_max`.
    `granularities`: numbers of clusters on further levels.
    `threshold`: minimum cosine similarity between a document and a story.
    `half_life_s`: seconds without a document after which the similarities to a story are halved;
        null to ignore time.
    `size_min`: minimum number of documents of a story or dense group.
    `seed`: seed of all random choices.

    `characters_min`: shorter texts are not grouped and count as `short`.
    `languages`: two-letter codes; a document that states another language is not grouped and counts
        as `language`. Empty: all are grouped.
    `where`: conditions `FIELD=VALUE` on title, url or language; a document that fails one is not
        grouped and counts as `field`.
    `dense`: length of the posted vectors that are used together with terms; a document without one
        counts as `vector`. None: use terms only.
    `encoder`: model that computes such vectors from the texts instead; needs the extra `dense`.
        None: no model.
    `kept`: number of clusterings to keep.

    A rebuild is due in any of these cases; None disables a case:
    - `growth_max`: more documents were added than this share of the grouped documents.
    - `outliers_factor`: the share of outliers among documents added later exceeds this multiple of
      their share at the last rebuild, which counts as at least 5 %.
    - `unknown_max`: the share of unknown terms in documents added later exceeds the share in the
      grouped documents by this much.
    - `every_s`: this many seconds passed since the last rebuild.
    """

    algorithm: Annotated[str, Meta(description="topics, stories, factors or density")] = "topics"
    clusters: Annotated[
        int | None, Meta(description="number of clusters; null to choose it automatically")
    ] = None
    clusters_max: Annotated[int, Meta(description="maximum number of clusters")] = 50
    granularities: Annotated[
        tuple[int, ...], Meta(description="numbers of clusters on further levels")
    ] = ()
    threshold: Annotated[
        float, Meta(description="minimum cosine similarity between a document and a story")
    ] = 0.4
    half_life_s: Annotated[
        float | None,
        Meta(description="half-life of similarity over time, in seconds; null for none"),
    ] = None
    size_min: Annotated[int, Meta(description="minimum size of a cluster")] = 2
    seed: Annotated[int, Meta(description="random seed")] = 0
    characters_min: Annotated[
        int,
        Meta(description="minimum length of a text, in characters; shorter ones count as `short`"),
    ] = 10
    languages: Annotated[
        tuple[str, ...], Meta(description="languages to group; empty for all")
    ] = ()
    where: Annotated[
        tuple[str, ...], Meta(description="FIELD=VALUE conditions on title, url or language")
    ] = ()
    dense: Annotated[
        int | None,
        Meta(
            description="length of posted vectors that are used together with terms; null for terms "
            "only"
        ),
    ] = None
    encoder: Annotated[
        str | None, Meta(description="model that computes such vectors from texts; null for none")
    ] = None
    growth_max: Annotated[
        float | None,
        Meta(
            description="share by which a collection may grow before a rebuild is due; null for never"
        ),
    ] = 0.2
    outliers_factor: Annotated[
        float | None,
        Meta(
            description="multiple of the share of outliers from which a rebuild is due; null for never"
        ),
    ] = 2.0
    unknown_max: Annotated[
        float | None,
        Meta(
            description="increase of the share of unknown terms from which a rebuild is due; null for "
            "never"
        ),
    ] = 0.2
    every_s: Annotated[
        int | None, Meta(description="seconds after which a rebuild is due; null for never")
    ] = None
    kept: Annotated[int, Meta(description="number of clusterings to keep")] = 2


_LISTS = ("granularities", "languages", "where")
FILTER_FIELDS = ("title", "url", "language")
FILTERS_MAX = 20
FILTER_MAX_CHARS = 5000
NAMES = tuple(field.name for field in fields(Configuration))


def build_configuration(
    values: Mapping[str, object], defaults: Configuration | None = None
) -> Configuration:
    """Build a validated configuration from parameter values.

    Parameters that are not in `values` come from `defaults`, or else from the built-in defaults.
    Raises ValueError for an unknown parameter (and suggests the nearest name) or a value out of
    bounds.
    """
    for name in values:
        if name not in NAMES:
            raise ValueError(format_unknown_name("parameter", name, NAMES))
    merged_values = {**msgspec.to_builtins(defaults or Configuration()), **values}
    try:
        configuration = msgspec.convert(merged_values, prepare_type(Configuration))
    except msgspec.ValidationError as error:
        raise ValueError(f"invalid parameter: {error}") from error
    return _validate(configuration)


def read_value(name: str, text: str) -> object:
    """Parse the value of one configuration parameter, as written on a command line or in a form.

    Return None for `none` or an empty text, a list for a parameter with several values
    (comma-separated), else a number or a name.
    Raises ValueError for an unknown parameter, or a text that is not a number where one is
    required.
    """
    if name not in NAMES:
        raise ValueError(format_unknown_name("parameter", name, NAMES))
    if name in _LISTS:
        parts = [part.strip() for part in text.split(",") if part.strip() not in ("", "none")]
        return parts if name != "granularities" else [_parse_number(name, part) for part in parts]
    if text.strip().lower() in ("none", ""):
        return None
    return text if name in ("algorithm", "encoder") else _parse_number(name, text)


def get(tables: Tables, namespace: str, conf: str) -> Configuration:
    """Return the configuration with this name in a namespace.

    The configuration `DEFAULT` exists without being saved. Raises UnknownNameError if no
    configuration has the name.
    """
    cells = tables.get_row(
        CONFIGURATIONS, build_collection_row(namespace, conf), [Column.CONFIGURATION]
    )
    if cells is not None:
        return parse_configuration(cells)
    if conf == DEFAULT:
        return Configuration()
    raise UnknownNameError(
        "conf", "configuration", conf, sorted(list_configurations(tables, namespace))
    )


def parse_configuration(cells: Cells) -> Configuration:
    """Return the configuration stored in the cells of a row.

    The row is in the table `configurations`, or it is the row of a clustering, which stores the
    configuration that the clustering was built with.
    Raises DamagedRowError if a stored parameter is not valid.
    """
    text = cells.get(Column.CONFIGURATION, b"{}")
    parameters = decode_cell(text, Column.CONFIGURATION, dict[str, Any])
    try:
        return build_configuration(parameters)
    except ValueError as error:
        raise DamagedRowError(f"A stored configuration has an invalid parameter: {error}") from None


def save_configuration(
    tables: Tables, namespace: str, conf: str, configuration: Configuration
) -> None:
    """Validate and save a configuration. It replaces one of the same name in the namespace.

    Raises ValueError for an invalid namespace, name or parameter.
    """
    validate_name(CollectionName(namespace, "-"))
    row = build_collection_row(namespace, validate_conf(conf))
    cells = {
        Column.NAMESPACE: namespace.encode(),
        Column.NAME: conf.encode(),
        Column.CONFIGURATION: encode_json(_validate(configuration)),
    }
    tables.put(CONFIGURATIONS, [(row, cells | build_checksum_cell(CONFIGURATIONS, row, cells))])
    register_row = build_register_row(CONFIGURATIONS, row)
    tables.put(REGISTER, [(register_row, build_register_cells(CollectionName(namespace, conf)))])


def remove(tables: Tables, namespace: str, conf: str) -> bool:
    """Delete a configuration from a namespace and return whether it existed.

    Clusterings that were built with the configuration stay.
    """
    row = build_collection_row(namespace, conf)
    was_there = tables.get_row(CONFIGURATIONS, row, [Column.CONFIGURATION]) is not None
    tables.delete(REGISTER, [build_register_row(CONFIGURATIONS, row)])
    tables.delete(CONFIGURATIONS, [row])
    return was_there


def list_configurations(tables: Tables, namespace: str) -> dict[str, Configuration]:
    """Return all configurations of a namespace by name, including `DEFAULT`."""
    configurations = {DEFAULT: Configuration()}
    for _, cells in tables.iter_rows(CONFIGURATIONS, build_namespace_prefix(namespace)):
        configurations[cells[Column.NAME].decode()] = parse_configuration(cells)
    return configurations


def build_values(configuration: Configuration) -> dict[str, Any]:
    """Return the parameters of a configuration by name, as plain JSON values."""
    values: dict[str, Any] = msgspec.to_builtins(configuration)
    return values


def iter_filters(configuration: Configuration) -> Iterator[tuple[str, str]]:
    """Iterate over the filters of a configuration, as pairs of a field and its required value.

    Documents that fail a filter are not grouped.
    """
    for condition in configuration.where:
        name, _, value = condition.partition("=")
        yield name, value


def _validate(configuration: Configuration) -> Configuration:
    if configuration.algorithm not in ALGORITHMS:
        raise ValueError(format_unknown_name("algorithm", configuration.algorithm, ALGORITHMS))
    counts = (
        *configuration.granularities,
        configuration.clusters_max,
        1 if configuration.clusters is None else configuration.clusters,
    )
    if not all(1 <= count <= CLUSTERS_MAX for count in counts):
        raise ValueError(f"clusters must be between 1 and {CLUSTERS_MAX}")
    if len(configuration.granularities) > GRANULARITIES_MAX:
        raise ValueError(f"at most {GRANULARITIES_MAX} granularities are possible")
    if not 0 < configuration.threshold < 1:
        raise ValueError("threshold must be a cosine between 0 and 1")
    _check_minimum(configuration, "half_life_s", 0.0)
    _check_minimum(configuration, "every_s", 59)
    _check_minimum(configuration, "growth_max", 0.0)
    _check_minimum(configuration, "outliers_factor", 1.0)
    _check_minimum(configuration, "unknown_max", 0.0)
    for name in ("size_min", "characters_min", "every_s"):
        if (getattr(configuration, name) or 0) > EXACT_MAX:
            raise ValueError(f"{name} can be at most {EXACT_MAX:,}")
    if (
        configuration.size_min < 1
        or configuration.characters_min < 0
        or not 1 <= configuration.kept <= 100
    ):
        raise ValueError("size_min must be 1 or more, characters_min 0 or more, kept 1 to 100")
    _check_vectors(configuration)
    if not 0 <= configuration.seed < 2**32:
        raise ValueError("seed must be a whole number from 0 to 2^32 - 1")
    _check_filters(configuration)
    languages = tuple(code.partition("-")[0].lower()[:2] for code in configuration.languages)
    return replace(configuration, languages=tuple(dict.fromkeys(languages)))


def _check_vectors(configuration: Configuration) -> None:
    if configuration.dense is not None and not 1 <= configuration.dense <= NUMBERS_MAX:
        raise ValueError(
            f"dense must be the length of posted vectors, 1 to {NUMBERS_MAX:,}, or null"
        )
    if configuration.encoder not in (None, *ENCODERS):
        raise ValueError(format_unknown_name("encoder", str(configuration.encoder), ENCODERS))
    if configuration.encoder is not None and configuration.dense is not None:
        raise ValueError(
            "set dense (posted vectors) or encoder (vectors made from texts), not both"
        )


def _check_filters(configuration: Configuration) -> None:
    if (
        len(configuration.where) > FILTERS_MAX
        or max(map(len, configuration.where), default=0) > FILTER_MAX_CHARS
    ):
        raise ValueError(
            f"where can have up to {FILTERS_MAX} entries of {FILTER_MAX_CHARS:,} characters"
        )
    for condition in configuration.where:
        name, equals, _ = condition.partition("=")
        if not equals:
            raise ValueError(f"write where as FIELD=VALUE, not {condition!r}")
        if name not in FILTER_FIELDS:
            raise ValueError(format_unknown_name("field", name, FILTER_FIELDS))


def _parse_number(name: str, text: str) -> int | float:
    try:
        return int(text) if text.strip().lstrip("-").isdigit() else float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number, not {text!r}") from None


def _check_minimum(configuration: Configuration, name: str, minimum: float) -> None:
    value = getattr(configuration, name)
    if value is not None and not value > minimum:
        raise ValueError(f"{name} must be more than {minimum:g}, or null")
