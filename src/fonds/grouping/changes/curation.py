"""Curation of themes by people: names, pins, and exclusions of documents.

An excluded document leaves the theme at once. It moves to the nearest other theme that is similar
enough, or becomes unclustered for the reason `excluded`. A rebuild applies exclusions by theme id,
after the new clusters have received their ids.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from msgspec import Meta

from fonds.grouping.changes.cells import add_moves, build_cluster_key, load_placements
from fonds.grouping.changes.duplicate_links import PlacementsById, relink_duplicates
from fonds.grouping.changes.writer import DOCUMENT_BATCH, CollectionWriter, LeasedCollection
from fonds.grouping.checksums import build_checksum_cell
from fonds.grouping.clustering import (
    EXCLUDED,
    Placement,
    StoredClustering,
    is_served,
    list_stored_clusterings,
    processed_column,
)
from fonds.grouping.columns import MAIN_FAMILY, Column
from fonds.grouping.document import (
    COLUMNS,
    build_member_column,
    collect_encoded_cells,
    parse_document,
)
from fonds.grouping.names import CollectionName, build_unclustered_conf
from fonds.grouping.redo_log import PendingWrites, perform
from fonds.grouping.stored.keys import build_theme_row
from fonds.grouping.tables import (
    CLUSTERS,
    COLLECTIONS,
    DOCUMENTS,
    EXCLUSIONS,
    THEMES,
    decode_int,
    encode_json,
    encode_utf8,
)
from fonds.grouping.views.clusters import load_clusters
from fonds.grouping.views.curation import (
    CURATED_MAX,
    CuratedTheme,
    Exclusion,
    find_labels_by_id,
    list_curated_themes,
    load_exclusions,
)
from fonds.model.suggestions import format_unknown_name

# Names and pins of themes. They are stored by theme id, which persists over rebuilds. The labels
# that a rebuild computes stay unchanged.


NAME_MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class ThemeRef:
    """Reference to a theme by its id.

    `label`: current label of the theme. For a theme that no longer exists, the label that it had
        when a person last named or pinned it.
    """

    id: str
    label: str


def rename(
    writer: CollectionWriter, name: CollectionName, conf: str, theme: str, new_name: str
) -> CuratedTheme:
    """Set the name that a person gives a theme, or remove it with ''. Idempotent.

    `theme`: id, label or given name of the theme.
    Return the resulting curation (name and pin) of the theme.
    Raises ValueError for an unknown theme, a name over 200 characters, a name without a letter or
    digit or with control characters, and if 1,000 themes are already named or pinned.
    """
    valid_name = validate_name(new_name)
    with writer.lease(name) as collection:
        now, curation = writer.clock(), _find_curation(writer, collection, conf, theme)
        named_at = now if valid_name else None
        if valid_name == curation.name:
            return curation
        return _write_curation(
            writer, collection, conf, replace(curation, name=valid_name, named=named_at)
        )


def pin(
    writer: CollectionWriter, name: CollectionName, conf: str, theme: str, *, is_pinned: bool = True
) -> CuratedTheme:
    """Pin a theme, so that it is listed first, or unpin it with `is_pinned=False`. Idempotent.

    `theme`: id, label or given name of the theme.
    Return the resulting curation (name and pin) of the theme.
    Raises ValueError for an unknown theme, and if 1,000 themes are already named or pinned.
    """
    with writer.lease(name) as collection:
        curation = _find_curation(writer, collection, conf, theme)
        if is_pinned is (curation.pinned is not None):
            return curation
        return _write_curation(
            writer,
            collection,
            conf,
            replace(curation, pinned=writer.clock() if is_pinned else None),
        )


def validate_name(new_name: str) -> str:
    """Return a theme's new name with each run of white space replaced by one space, and stripped.

    '' is valid. Raises ValueError for a name over 200 characters, with control characters, or
    without a letter or digit.
    """
    name = " ".join(new_name.split())
    if len(name) > NAME_MAX_CHARS:
        raise ValueError(f"a theme's name can have at most {NAME_MAX_CHARS} characters")
    control_characters = [
        character for character in name if unicodedata.category(character) in ("Cc", "Cs")
    ]
    if control_characters or (name and not any(character.isalnum() for character in name)):
        raise ValueError(
            "a theme's name needs a letter or digit and cannot contain control characters"
        )
    return name


def find_theme(writer: CollectionWriter, name: CollectionName, conf: str, theme: str) -> ThemeRef:
    """Find a theme on the first level of the served clustering, by id, label or given name.

    A theme that no longer exists but was curated is found by id.
    Raises ValueError for an unknown theme, suggesting the most similar label, and for a name that
    several themes have.
    """
    served_clusters = load_clusters(writer.tables, name, conf, top=0)
    clusters = served_clusters.clusters if served_clusters else ()
    for attribute in ("id", "label", "name"):
        matches = [
            cluster for cluster in clusters if theme and getattr(cluster, attribute) == theme
        ]
        if len(matches) > 1:
            raise ValueError(f"{len(matches)} themes are named {theme!r}. Give the theme's id")
        if matches:
            return ThemeRef(matches[0].id, matches[0].label)
    removed_theme = list_curated_themes(writer.tables, name, conf).get(theme)
    if removed_theme is None:
        raise ValueError(
            format_unknown_name("theme", theme[:200], [cluster.label for cluster in clusters])
        )
    return ThemeRef(removed_theme.id, removed_theme.label)


def _find_curation(
    writer: CollectionWriter, collection: LeasedCollection, conf: str, theme: str
) -> CuratedTheme:
    theme_ref = find_theme(writer, collection.name, conf, theme)
    curation = list_curated_themes(writer.tables, collection.name, conf).get(theme_ref.id)
    if curation is None:
        return CuratedTheme(theme_ref.id, theme_ref.label, "", None, None)
    return replace(curation, label=theme_ref.label)


def _write_curation(
    writer: CollectionWriter, collection: LeasedCollection, conf: str, curated_theme: CuratedTheme
) -> CuratedTheme:
    name = collection.name
    row = build_theme_row(name.namespace, name.key, conf, curated_theme.id)
    curated_themes = list_curated_themes(writer.tables, name, conf)
    if curated_theme.id not in curated_themes and len(curated_themes) >= CURATED_MAX:
        raise ValueError(f"at most {CURATED_MAX:,} themes of {name} can be named or pinned")
    writes = PendingWrites()
    if curated_theme.name or curated_theme.pinned is not None:
        cells = {
            Column.ID: encode_utf8(curated_theme.id),
            Column.LABEL: encode_utf8(curated_theme.label),
            Column.NAME: encode_utf8(curated_theme.name),
            Column.NAMED: b"" if curated_theme.named is None else encode_utf8(curated_theme.named),
            Column.PINNED: b""
            if curated_theme.pinned is None
            else encode_utf8(curated_theme.pinned),
        }
        writes.put(THEMES, row, cells)
    else:
        writes.remove(THEMES, row)
    perform(writer.tables, name, collection.cells, [], writes, writer.leases, collection.lease)
    return curated_theme


THEMES_MAX = 50
"""Maximum themes, over all configurations, that one document may be excluded from."""


@dataclass(frozen=True, slots=True)
class ExclusionResult:
    """Result of excluding documents from a theme, or of including them again."""

    id: Annotated[str, Meta(description="id of the theme")]
    label: Annotated[str, Meta(description="label of the theme; empty if it no longer exists")]
    documents: Annotated[
        int, Meta(description="number of documents that were excluded or included")
    ]


def exclude(
    writer: CollectionWriter, name: CollectionName, conf: str, theme: str, ids: Sequence[str]
) -> ExclusionResult:
    """Exclude documents from a theme. Idempotent.

    `theme`: id, label or given name of the theme. `ids`: ids of the documents.
    Return the theme and the number of documents that were not excluded before.
    Raises ValueError for an unknown theme or document, a document that is not in the theme, no
    documents or over 500, over 50 themes per document, and a configuration without a served
    clustering.
    """
    distinct_ids = _validate_ids(ids)
    _read_model(writer, name, conf)
    with writer.lease(name) as collection:
        clustering, rows = (
            _find_served(writer, collection, conf),
            _load_rows(writer, name, distinct_ids),
        )
        theme_ref = find_theme(writer, name, conf, theme)
        exclusions = load_exclusions(writer.tables, name, distinct_ids)
        new_ids = [
            id_ for id_ in distinct_ids if (conf, theme_ref.id) not in exclusions.get(id_, {})
        ]
        placements_before = load_placements(writer.tables, clustering, new_ids)
        label = find_labels_by_id(writer.tables, clustering, {theme_ref.id}).get(theme_ref.id)
        for id_ in new_ids:
            if label is None or label not in _list_labels(
                clustering, placements_before.get(id_, ())
            ):
                raise ValueError(
                    f"the document {id_[:200]!r} is not in the theme {theme_ref.label!r}"
                )
            if len(exclusions.get(id_, ())) >= THEMES_MAX:
                raise ValueError(
                    f"the limit of {THEMES_MAX} themes from which "
                    f"{id_[:200]!r} can be excluded is reached"
                )
        if not new_ids:
            return ExclusionResult(theme_ref.id, theme_ref.label, 0)
        writes, now = PendingWrites(), writer.clock()
        excluded_labels = {
            id_: _find_excluded_labels(writer, clustering, exclusions.get(id_, {}), {theme_ref.id})
            for id_ in new_ids
        }
        for id_ in new_ids:
            exclusion = Exclusion(
                now,
                theme_ref.label,
                clustering.timestamp,
                decode_int(rows[name.build_document_row(id_)], Column.SEQUENCE),
                _list_paths(placements_before[id_]),
            )
            cells = {
                Column.ID: encode_utf8(id_),
                f"{Column.EXCLUDED_FROM_PREFIX}{conf}:{theme_ref.id}": encode_json(exclusion),
            }
            writes.put(EXCLUSIONS, name.build_document_row(id_), cells)
        move_excluded(writer, clustering, new_ids, excluded_labels, writes)
        _perform(writer, collection, clustering, new_ids, writes)
    return ExclusionResult(theme_ref.id, theme_ref.label, len(new_ids))


def include(
    writer: CollectionWriter, name: CollectionName, conf: str, theme: str, ids: Sequence[str]
) -> ExclusionResult:
    """Revoke the exclusion of documents from a theme, even from one that no longer exists.
    Idempotent.

    `theme`: id, label or given name; a theme that no longer exists needs its id. If a document and
        the clustering are unchanged, the document returns to its previous placement. Otherwise the
        clustering's model assigns it.

    Return the theme and the number of documents. Raises ValueError for an unknown theme or
    document, no documents or over 500, and a configuration without a served clustering.
    """
    distinct_ids = _validate_ids(ids)
    _read_model(writer, name, conf)
    with writer.lease(name) as collection:
        clustering = _find_served(writer, collection, conf)
        rows = _load_rows(writer, name, distinct_ids)
        exclusions = load_exclusions(writer.tables, name, distinct_ids)
        theme_id = _find_excluded_themes(writer, name, conf, theme, exclusions)
        excluded_ids = [id_ for id_ in distinct_ids if (conf, theme_id) in exclusions.get(id_, {})]
        label = next((exclusions[id_][conf, theme_id].label for id_ in excluded_ids), "")
        if not excluded_ids:
            return ExclusionResult(theme_id, label, 0)
        writes, excluded_labels, revoked_exclusions = PendingWrites(), {}, {}
        for id_ in excluded_ids:
            remaining = {
                key: exclusion
                for key, exclusion in exclusions[id_].items()
                if key != (conf, theme_id)
            }
            _remove_exclusion(name, id_, conf, theme_id, writes, is_last=not remaining)
            excluded_labels[id_] = _find_excluded_labels(writer, clustering, remaining, set())
            revoked_exclusions[id_] = exclusions[id_][conf, theme_id]
        if theme_id in find_labels_by_id(writer.tables, clustering, {theme_id}):
            placements = _restore_placements(
                writer, clustering, rows, revoked_exclusions, excluded_labels
            )
            move_excluded(writer, clustering, excluded_ids, excluded_labels, writes, placements)
        _perform(writer, collection, clustering, excluded_ids, writes)
    return ExclusionResult(theme_id, label, len(excluded_ids))


def move_excluded(
    writer: CollectionWriter,
    clustering: StoredClustering,
    ids: Sequence[str],
    excluded_labels: Mapping[str, Collection[str]],
    writes: PendingWrites,
    previous: PlacementsById | None = None,
) -> None:
    """Add to `writes` the moves of documents out of the clusters from which they are excluded.

    `excluded_labels`: labels of the clusters that must not receive a document, by document id.
    `previous`: placements to restore, by document id. The model assigns all other documents.
    Only the holder of the collection's lease may call this function.
    """
    from fonds.grouping.changes.placement_rules import place_documents

    tables, placements = writer.tables, dict(previous or {})
    unplaced_ids = [id_ for id_ in ids if id_ not in placements]
    model = writer.models.get(tables, clustering) if unplaced_ids else None
    if model is not None:
        rows = tables.get_rows(
            DOCUMENTS, [clustering.name.build_document_row(id_) for id_ in unplaced_ids], COLUMNS
        )
        documents = [parse_document(cells).document for cells in rows.values()]
        placement_batch = place_documents(
            model, documents, collect_encoded_cells(rows), excluded_labels
        )
        for document, places in zip(documents, placement_batch.placements, strict=True):
            placements[document.id] = places
        for id_, cells in placement_batch.encoded_cells.items():
            writes.put(DOCUMENTS, clustering.name.build_document_row(id_), cells)
    placements_before, placements_after = relink_duplicates(
        tables, clustering, list(placements), placements, {}, excluded_labels
    )
    add_moves(tables, clustering, placements_before, placements_after, writes)
    for id_, places in placements.items():
        label = next(
            (placement.label for placement in places if placement.conf == clustering.conf), ""
        )
        writes.put(
            DOCUMENTS,
            clustering.name.build_document_row(id_),
            {build_member_column(clustering.conf): encode_utf8(label)},
        )
    writes.put(CLUSTERS, *_build_reason_row(clustering))


def _build_reason_row(clustering: StoredClustering) -> tuple[bytes, dict[str, bytes]]:
    """Return the row in the table `clusters` for documents that are unclustered as `excluded`.

    The table has one row per reason why documents are in no cluster. Clusterings built before Fonds
    had the reason `excluded` lack this row. Return its row key and cells.
    """
    cells = {
        Column.NAMESPACE: encode_utf8(clustering.name.namespace),
        Column.COLLECTION_KEY: encode_utf8(clustering.name.key),
        Column.CONF: encode_utf8(clustering.conf),
        Column.TIMESTAMP: encode_utf8(clustering.timestamp),
        Column.LABEL: encode_utf8(EXCLUDED),
    }
    conf = build_unclustered_conf(clustering.conf)
    row = build_cluster_key(clustering.name, conf, clustering.timestamp, EXCLUDED)
    return row, cells | build_checksum_cell(CLUSTERS, row, cells)


def _restore_placements(
    writer: CollectionWriter,
    clustering: StoredClustering,
    rows: Mapping[bytes, Mapping[str, bytes]],
    exclusions: Mapping[str, Exclusion],
    excluded_labels: Mapping[str, Collection[str]],
) -> PlacementsById:
    """Return the placements that documents had when they were excluded, by document id.

    A document is included only if all of this is true: it is unchanged since its exclusion, it was
    excluded in the same clustering, and no other exclusion of it concerns its earlier cluster.
    `exclusions`: the revoked exclusion of each document, by document id.
    `excluded_labels`: labels of the clusters from which a document is still excluded, by document
        id.
    """
    restored_placements: PlacementsById = {}
    for id_, exclusion in exclusions.items():
        is_unchanged = (
            decode_int(rows[clustering.name.build_document_row(id_)], Column.SEQUENCE)
            == exclusion.sequence
        )
        is_unchanged = is_unchanged and exclusion.timestamp == clustering.timestamp
        places = [
            Placement(conf, label, score.encode(), original)
            for conf, label, score, original in exclusion.places
        ]
        if is_unchanged and not set(_list_labels(clustering, places)) & set(excluded_labels[id_]):
            restored_placements[id_] = places
    originals = sorted(
        {
            placement.original
            for places in restored_placements.values()
            for placement in places
            if placement.original
        }
    )
    placements = load_placements(writer.tables, clustering, originals)
    return {
        id_: _link_duplicates(places, placements) for id_, places in restored_placements.items()
    }


def _link_duplicates(places: list[Placement], placements: PlacementsById) -> list[Placement]:
    """Return the placements of a document without links to its originals that are out of date.

    A link names the document that this one is a near-duplicate of. The links stay if, on each level
    with a link, the original is in the same cluster and is not itself a near-duplicate. Otherwise
    all links are removed.
    `places`: placements of the document, one per level.
    `placements`: current placements of its originals, by document id.
    """
    original_places = {
        (original, placement.conf, placement.label)
        for original, own_placements in placements.items()
        for placement in own_placements
        if not placement.original
    }
    if all(
        (place.original, place.conf, place.label) in original_places
        for place in places
        if place.original
    ):
        return places
    return [replace(place, original="") for place in places]


def _find_excluded_themes(
    writer: CollectionWriter,
    name: CollectionName,
    conf: str,
    theme: str,
    reference: Mapping[str, Mapping[tuple[str, str], Exclusion]],
) -> str:
    if any((conf, theme) in exclusions for exclusions in reference.values()):
        return theme
    return find_theme(writer, name, conf, theme).id


def _remove_exclusion(
    name: CollectionName,
    id_: str,
    conf: str,
    theme_id: str,
    writes: PendingWrites,
    *,
    is_last: bool,
) -> None:
    row = name.build_document_row(id_)
    if is_last:
        writes.remove(EXCLUSIONS, row)
    else:
        writes.remove_cell(EXCLUSIONS, row, f"{Column.EXCLUDED_FROM_PREFIX}{conf}:{theme_id}")


def _find_excluded_labels(
    writer: CollectionWriter,
    clustering: StoredClustering,
    reference: Mapping[tuple[str, str], Exclusion],
    further_ids: set[str],
) -> set[str]:
    """Return the labels of the clusters of a clustering that a document must not be in.

    `reference`: existing exclusions of the document, by (configuration, theme id).
    `further_ids`: ids of further themes that the document must not be in.
    """
    ids = {theme_id for conf, theme_id in reference if conf == clustering.conf} | further_ids
    return set(find_labels_by_id(writer.tables, clustering, ids).values()) if ids else set()


def _list_labels(clustering: StoredClustering, places: Sequence[Placement]) -> list[str]:
    return [place.label for place in places if place.conf == clustering.conf]


def _list_paths(places: Sequence[Placement]) -> tuple[tuple[str, str, str, str], ...]:
    return tuple(
        (place.conf, place.label, place.score.decode(), place.original) for place in places
    )


def _validate_ids(ids: Sequence[str]) -> list[str]:
    distinct_ids = list(dict.fromkeys(ids))
    if not 0 < len(distinct_ids) <= DOCUMENT_BATCH:
        raise ValueError(f"give 1 to {DOCUMENT_BATCH} documents at once, not {len(distinct_ids):,}")
    return distinct_ids


def _load_rows(
    writer: CollectionWriter, name: CollectionName, ids: Sequence[str]
) -> dict[bytes, dict[str, bytes]]:
    rows = writer.tables.get_rows(
        DOCUMENTS, [name.build_document_row(id_) for id_ in ids], [Column.ID, Column.SEQUENCE]
    )
    for id_ in ids:
        if Column.ID not in rows.get(name.build_document_row(id_), {}):
            raise ValueError(f"no document {id_[:200]!r} in {name}")
    return rows


def _find_served(
    writer: CollectionWriter, collection: LeasedCollection, conf: str
) -> StoredClustering:
    for stored_clustering in list_stored_clusterings(writer.tables, collection.name):
        if stored_clustering.conf == conf and is_served(stored_clustering, collection.cells):
            return stored_clustering
    raise ValueError(f"{collection.name} has no clustering by {conf} yet")


def _read_model(writer: CollectionWriter, name: CollectionName, conf: str) -> None:
    """Load the model of a configuration's served clustering into the cache of models.

    Callers do this before they take the collection's lease, since loading takes a while.
    """
    cells = writer.tables.get_row(COLLECTIONS, name.row, [MAIN_FAMILY]) or {}
    for stored_clustering in list_stored_clusterings(writer.tables, name):
        if stored_clustering.conf == conf and is_served(stored_clustering, cells):
            writer.models.get(writer.tables, stored_clustering)


def _perform(
    writer: CollectionWriter,
    collection: LeasedCollection,
    clustering: StoredClustering,
    ids: Sequence[str],
    writes: PendingWrites,
) -> None:
    moment = {processed_column(clustering.conf): encode_utf8(writer.clock())}
    writes.put(COLLECTIONS, collection.name.row, moment)
    perform(
        writer.tables,
        collection.name,
        collection.cells,
        ids,
        writes,
        writer.leases,
        collection.lease,
    )
