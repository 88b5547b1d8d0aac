"""How a collection is grouped, by name: algorithm, parameters, filters, when it is built again; as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import msgspec

from fonds.grouping.names import DEFAULT, CollectionName, validate_conf, validate_name
from fonds.grouping.stored.dense_vectors import NUMBERS_MAX
from fonds.grouping.stored.keys import build_collection_row, build_namespace_prefix
from fonds.grouping.tables import CONFIGURATIONS, Tables, encode_json
from fonds.model.encoding import EXACT_MAX, prepare_type
from fonds.model.suggestions import UnknownNameError, format_unknown_name

_COLUMN = "main:configuration"
ALGORITHMS = ("topics", "stories", "factors", "density")
ENCODERS = ("minilm",)
CLUSTERS_MAX = 2000
GRANULARITIES_MAX = 10


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration. The first eight are those of `grouping.options.Options`.

    `characters_min`: shorter texts are in no cluster, but counted as `short`. `languages`: of documents
    that say a language only those in one of these, two letters each, are grouped, the others counted as
    `language`; none: all are. `where`: only documents are grouped of which each of these holds,
    `FIELD=VALUE` of title, url or language, the others counted as `field`. `dense`: how many numbers the
    vectors have that documents are posted with and that count beside their terms; documents without such
    a vector are counted as `vector`; None: terms alone count. `encoder`: the model that makes such
    vectors out of the texts instead, with the extra `dense`; None: nobody does. A rebuild is due when
    the collection has grown by `growth_max` of what was grouped, when `outliers_factor` times the share
    of outliers there was is reached by later documents, when the share of later documents' terms that
    the dictionary does not know is `unknown_max` above that of the grouped ones, or after `every_s`
    seconds; None, never for that. `kept`: so many clusterings are kept.
    """

    algorithm: str = "topics"
    clusters: int | None = None
    clusters_max: int = 50
    granularities: tuple[int, ...] = ()
    threshold: float = 0.4
    half_life_s: float | None = None
    size_min: int = 2
    seed: int = 0
    characters_min: int = 10
    languages: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    dense: int | None = None
    encoder: str | None = None
    growth_max: float | None = 0.2
    outliers_factor: float | None = 2.0
    unknown_max: float | None = 0.2
    every_s: int | None = None
    kept: int = 2


_LISTS = ("granularities", "languages", "where")
FILTER_FIELDS = ("title", "url", "language")
FILTERS_MAX = 20
FILTER_MAX_CHARS = 5000
NAMES = tuple(field.name for field in fields(Configuration))


def build_configuration(
    values: Mapping[str, object], defaults: Configuration | None = None
) -> Configuration:
    """A configuration of these values, over `defaults` or what is usual.

    Raises ValueError with a sentence for a name there is not (with the nearest), or a value beyond its
    bounds.
    """
    for name in values:
        if name not in NAMES:
            raise ValueError(format_unknown_name("parameter", name, NAMES))
    plain = {**msgspec.to_builtins(defaults or Configuration()), **values}
    try:
        made = msgspec.convert(plain, prepare_type(Configuration))
    except msgspec.ValidationError as error:
        raise ValueError(f"a parameter is none: {error}") from error
    return _validate(made)


def read_value(name: str, text: str) -> object:
    """The value of a parameter as a person writes it: `none`, a number, or several with commas between.

    Raises ValueError with a sentence.
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
    """The configuration of this name; `DEFAULT` is there without having been put.

    Raises UnknownNameError where there is none.
    """
    found = tables.get_row(CONFIGURATIONS, build_collection_row(namespace, conf), [_COLUMN])
    if found is not None:
        return build_configuration(msgspec.json.decode(found[_COLUMN]))
    if conf == DEFAULT:
        return Configuration()
    raise UnknownNameError(
        "conf", "configuration", conf, sorted(list_configurations(tables, namespace))
    )


def save_configuration(
    tables: Tables, namespace: str, conf: str, configuration: Configuration
) -> None:
    """Keep it, in place of one of the same name. Raises ValueError."""
    validate_name(CollectionName(namespace, "-"))
    row = build_collection_row(namespace, validate_conf(conf))
    cells = {"main:namespace": namespace.encode(), "main:name": conf.encode()}
    tables.put(CONFIGURATIONS, [(row, {**cells, _COLUMN: encode_json(_validate(configuration))})])


def remove(tables: Tables, namespace: str, conf: str) -> bool:
    """Forget it; whether it was there. What was built by it stays."""
    row = build_collection_row(namespace, conf)
    was_there = tables.get_row(CONFIGURATIONS, row, [_COLUMN]) is not None
    tables.delete(CONFIGURATIONS, [row])
    return was_there


def list_configurations(tables: Tables, namespace: str) -> dict[str, Configuration]:
    """All of a namespace by name, `DEFAULT` with them."""
    found = {DEFAULT: Configuration()}
    for _, cells in tables.iter_rows(CONFIGURATIONS, build_namespace_prefix(namespace)):
        found[cells["main:name"].decode()] = build_configuration(
            msgspec.json.decode(cells[_COLUMN])
        )
    return found


def build_values(configuration: Configuration) -> dict[str, Any]:
    """The values by name, as JSON has them."""
    values: dict[str, Any] = msgspec.to_builtins(configuration)
    return values


def iter_filters(configuration: Configuration) -> Iterator[tuple[str, str]]:
    """The fields documents must have, each with its value."""
    for one in configuration.where:
        name, _, value = one.partition("=")
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
        raise ValueError(f"a number of clusters is between 1 and {CLUSTERS_MAX}")
    if len(configuration.granularities) > GRANULARITIES_MAX:
        raise ValueError(f"there are {GRANULARITIES_MAX} granularities at most")
    if not 0 < configuration.threshold < 1:
        raise ValueError("threshold is a cosine between 0 and 1")
    _check_minimum(configuration, "half_life_s", 0.0)
    _check_minimum(configuration, "every_s", 59)
    _check_minimum(configuration, "growth_max", 0.0)
    _check_minimum(configuration, "outliers_factor", 1.0)
    _check_minimum(configuration, "unknown_max", 0.0)
    for name in ("size_min", "characters_min", "every_s"):
        if (getattr(configuration, name) or 0) > EXACT_MAX:
            raise ValueError(f"{name} is {EXACT_MAX:,} at most")
    if (
        configuration.size_min < 1
        or configuration.characters_min < 0
        or not 1 <= configuration.kept <= 100
    ):
        raise ValueError("size_min is 1 or more, characters_min 0 or more, kept 1 to 100")
    _check_vectors(configuration)
    if not 0 <= configuration.seed < 2**32:
        raise ValueError("a seed is a whole number from 0 below 2^32")
    _check_filters(configuration)
    short = tuple(code.partition("-")[0].lower()[:2] for code in configuration.languages)
    return replace(configuration, languages=tuple(dict.fromkeys(short)))


def _check_vectors(configuration: Configuration) -> None:
    if configuration.dense is not None and not 1 <= configuration.dense <= NUMBERS_MAX:
        raise ValueError(f"dense is the length of posted vectors, 1 to {NUMBERS_MAX:,}, or null")
    if configuration.encoder not in (None, *ENCODERS):
        raise ValueError(format_unknown_name("encoder", str(configuration.encoder), ENCODERS))
    if configuration.encoder is not None and configuration.dense is not None:
        raise ValueError("vectors are posted (dense) or made of the texts (encoder), not both")


def _check_filters(configuration: Configuration) -> None:
    if (
        len(configuration.where) > FILTERS_MAX
        or max(map(len, configuration.where), default=0) > FILTER_MAX_CHARS
    ):
        raise ValueError(
            f"where has up to {FILTERS_MAX} entries of {FILTER_MAX_CHARS:,} characters"
        )
    for one in configuration.where:
        name, equals, _ = one.partition("=")
        if not equals:
            raise ValueError(f"where is FIELD=VALUE, not {one!r}")
        if name not in FILTER_FIELDS:
            raise ValueError(format_unknown_name("field", name, FILTER_FIELDS))


def _parse_number(name: str, text: str) -> int | float:
    try:
        return int(text) if text.strip().lstrip("-").isdigit() else float(text)
    except ValueError:
        raise ValueError(f"{name} is a number, not {text!r}") from None


def _check_minimum(configuration: Configuration, name: str, minimum: float) -> None:
    value = getattr(configuration, name)
    if value is not None and not value > minimum:
        raise ValueError(f"{name} is more than {minimum:g}, or null")
