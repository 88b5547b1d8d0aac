"""How a collection is grouped, by name: algorithm, parameters, filters, when it is built again; as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import msgspec

from fonds.collections.names import DEFAULT, Name, checked, checked_conf
from fonds.collections.tables import CONFIGURATIONS, Tables, to_json
from fonds.formats.grouping.dense import NUMBERS_MAX
from fonds.formats.grouping.keys import collection_row, namespace_prefix
from fonds.model.names import UnknownNameError, no_such
from fonds.model.numbers import EXACT_MAX
from fonds.model.prepared import prepared

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
WHERE_FIELDS = ("title", "url", "language")
WHERE_MAX = 20
WHERE_CHARACTERS_MAX = 5000
NAMES = tuple(field.name for field in fields(Configuration))


def configuration(values: Mapping[str, object], onto: Configuration | None = None) -> Configuration:
    """A configuration of these values, over `onto` or what is usual.

    Raises ValueError with a sentence for a name there is not (with the nearest), or a value beyond its
    bounds.
    """
    for name in values:
        if name not in NAMES:
            raise ValueError(no_such("parameter", name, NAMES))
    plain = {**msgspec.to_builtins(onto or Configuration()), **values}
    try:
        made = msgspec.convert(plain, prepared(Configuration))
    except msgspec.ValidationError as error:
        raise ValueError(f"a parameter is none: {error}") from error
    return _checked(made)


def read_value(name: str, said: str) -> object:
    """The value of a parameter as a person writes it: `none`, a number, or several with commas between.

    Raises ValueError with a sentence.
    """
    if name not in NAMES:
        raise ValueError(no_such("parameter", name, NAMES))
    if name in _LISTS:
        parts = [part.strip() for part in said.split(",") if part.strip() not in ("", "none")]
        return parts if name != "granularities" else [_number(name, part) for part in parts]
    if said.strip().lower() in ("none", ""):
        return None
    return said if name in ("algorithm", "encoder") else _number(name, said)


def get(tables: Tables, namespace: str, conf: str) -> Configuration:
    """The configuration of this name; `DEFAULT` is there without having been put.

    Raises UnknownNameError where there is none.
    """
    found = tables.row(CONFIGURATIONS, collection_row(namespace, conf), [_COLUMN])
    if found is not None:
        return configuration(msgspec.json.decode(found[_COLUMN]))
    if conf == DEFAULT:
        return Configuration()
    raise UnknownNameError("conf", "configuration", conf, sorted(every(tables, namespace)))


def put(tables: Tables, namespace: str, conf: str, made: Configuration) -> None:
    """Keep it, in place of one of the same name. Raises ValueError."""
    checked(Name(namespace, "-"))
    row = collection_row(namespace, checked_conf(conf))
    cells = {"main:namespace": namespace.encode(), "main:name": conf.encode()}
    tables.put(CONFIGURATIONS, [(row, {**cells, _COLUMN: to_json(_checked(made))})])


def remove(tables: Tables, namespace: str, conf: str) -> bool:
    """Forget it; whether it was there. What was built by it stays."""
    row = collection_row(namespace, conf)
    was_there = tables.row(CONFIGURATIONS, row, [_COLUMN]) is not None
    tables.delete(CONFIGURATIONS, [row])
    return was_there


def every(tables: Tables, namespace: str) -> dict[str, Configuration]:
    """All of a namespace by name, `DEFAULT` with them."""
    found = {DEFAULT: Configuration()}
    for _, cells in tables.scan(CONFIGURATIONS, namespace_prefix(namespace)):
        found[cells["main:name"].decode()] = configuration(msgspec.json.decode(cells[_COLUMN]))
    return found


def as_values(made: Configuration) -> dict[str, Any]:
    """The values by name, as JSON has them."""
    values: dict[str, Any] = msgspec.to_builtins(made)
    return values


def wheres(made: Configuration) -> Iterator[tuple[str, str]]:
    """The fields documents must have, each with its value."""
    for one in made.where:
        name, _, value = one.partition("=")
        yield name, value


def _checked(made: Configuration) -> Configuration:
    if made.algorithm not in ALGORITHMS:
        raise ValueError(no_such("algorithm", made.algorithm, ALGORITHMS))
    counts = (*made.granularities, made.clusters_max, 1 if made.clusters is None else made.clusters)
    if not all(1 <= count <= CLUSTERS_MAX for count in counts):
        raise ValueError(f"a number of clusters is between 1 and {CLUSTERS_MAX}")
    if len(made.granularities) > GRANULARITIES_MAX:
        raise ValueError(f"there are {GRANULARITIES_MAX} granularities at most")
    if not 0 < made.threshold < 1:
        raise ValueError("threshold is a cosine between 0 and 1")
    _above(made, "half_life_s", 0.0)
    _above(made, "every_s", 59)
    _above(made, "growth_max", 0.0)
    _above(made, "outliers_factor", 1.0)
    _above(made, "unknown_max", 0.0)
    for name in ("size_min", "characters_min", "every_s"):
        if (getattr(made, name) or 0) > EXACT_MAX:
            raise ValueError(f"{name} is {EXACT_MAX:,} at most")
    if made.size_min < 1 or made.characters_min < 0 or not 1 <= made.kept <= 100:
        raise ValueError("size_min is 1 or more, characters_min 0 or more, kept 1 to 100")
    _check_vectors(made)
    if not 0 <= made.seed < 2**32:
        raise ValueError("a seed is a whole number from 0 below 2^32")
    _check_where(made)
    short = tuple(code.partition("-")[0].lower()[:2] for code in made.languages)
    return replace(made, languages=tuple(dict.fromkeys(short)))


def _check_vectors(made: Configuration) -> None:
    if made.dense is not None and not 1 <= made.dense <= NUMBERS_MAX:
        raise ValueError(f"dense is the length of posted vectors, 1 to {NUMBERS_MAX:,}, or null")
    if made.encoder not in (None, *ENCODERS):
        raise ValueError(no_such("encoder", str(made.encoder), ENCODERS))
    if made.encoder is not None and made.dense is not None:
        raise ValueError("vectors are posted (dense) or made of the texts (encoder), not both")


def _check_where(made: Configuration) -> None:
    if len(made.where) > WHERE_MAX or max(map(len, made.where), default=0) > WHERE_CHARACTERS_MAX:
        raise ValueError(
            f"where has up to {WHERE_MAX} entries of {WHERE_CHARACTERS_MAX:,} characters"
        )
    for one in made.where:
        name, equals, _ = one.partition("=")
        if not equals:
            raise ValueError(f"where is FIELD=VALUE, not {one!r}")
        if name not in WHERE_FIELDS:
            raise ValueError(no_such("field", name, WHERE_FIELDS))


def _number(name: str, said: str) -> int | float:
    try:
        return int(said) if said.strip().lstrip("-").isdigit() else float(said)
    except ValueError:
        raise ValueError(f"{name} is a number, not {said!r}") from None


def _above(made: Configuration, name: str, least: float) -> None:
    value = getattr(made, name)
    if value is not None and not value > least:
        raise ValueError(f"{name} is more than {least:g}, or null")
