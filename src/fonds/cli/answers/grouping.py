"""JSON answers of the commands for collections, clusters, sources, catalogue and matching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fonds.cli.answers.answer import build_answer
from fonds.cli.json_answers import AnswerDescription

COLLECTION = (
    ("collection", "text", "NAMESPACE/KEY"),
    ("namespace", "text", "namespace of the collection"),
    ("key", "text", "key of the collection"),
    ("size", "integer", "number of documents"),
    ("modified", "integer", "time of the last change, in Unix milliseconds"),
    ("query", "text", "its rule; empty if it has none"),
    ("template", "text", "template it was created from; empty if none"),
    ("served", "list", "current clusterings: conf and build time"),
)
_THEME = (
    ("id", "text", "theme id; it stays the same over rebuilds"),
    ("label", "text", "generated label"),
    ("name", "text", "name given by a curator; empty if none"),
    ("pinned", "boolean", "whether it is listed first"),
)
_PLACEMENT_FIELDS = (
    ("id", "text", "theme id"),
    ("label", "text", "theme label; empty if the theme no longer exists"),
    ("documents", "integer", "number of documents that were excluded or included"),
)
CONFIGURATION = build_answer(
    "one",
    ("name", "text", "its name"),
    ("algorithm", "text", "topics, stories, factors or density"),
    ("clusters", "integer?", "number of clusters; null if it is chosen automatically"),
    ("clusters_max", "integer", "maximum number of clusters"),
    ("granularities", "list", "numbers of clusters on further levels"),
    ("threshold", "number", "minimum cosine similarity of two documents of a story"),
    ("half_life_s", "number?", "half-life of similarity over time, in seconds"),
    ("size_min", "integer", "minimum size of a cluster"),
    ("seed", "integer", "random seed"),
    ("characters_min", "integer", "minimum length of a text, in characters"),
    ("languages", "list", "languages to group; empty for all"),
    ("where", "list", "FIELD=VALUE filters for documents"),
    ("dense", "integer?", "dimensions of a document vector"),
    ("encoder", "text?", "model that computes document vectors"),
    ("growth_max", "number?", "growth that makes a rebuild due"),
    ("outliers_factor", "number?", "increase of outliers that makes a rebuild due"),
    ("unknown_max", "number?", "share of unknown terms that makes a rebuild due"),
    ("every_s", "integer?", "interval that makes a rebuild due, in seconds"),
    ("kept", "integer", "number of clusterings to keep"),
)
SOURCE = (
    ("source_id", "text", "source id"),
    ("url", "text", "URL of the source"),
    ("kind", "text", "feed, sitemap, page or api"),
    ("standing", "text", "waiting, active, silent, quiet, failing, dead, muted, paused or gone"),
    ("title", "text", "its title"),
    ("folder", "text", "its folder in OPML"),
    ("collection", "text", "collection of its documents"),
    ("pipeline", "text?", "pipeline that receives its links"),
    ("tls", "text", "how TLS certificates are checked"),
    ("added_at", "time?", "when it was added"),
    ("polled_last", "time?", "when it was last polled"),
    ("polled_next", "time?", "when it is polled next"),
    ("well_last", "time?", "last poll without errors"),
    ("new_last", "time?", "last poll with new links"),
    ("polls", "integer", "number of polls"),
    ("links", "integer", "number of links that entered"),
    ("listed", "integer?", "links in the last listing that had any"),
    ("failing_since", "time?", "start of the current failures; null if unknown"),
    ("silent_since", "time?", "when it stopped listing new links"),
    ("muted", "object?", "while muted: since, until (null: until it works again) and note"),
    ("refused", "object", "links refused before they entered, by reason"),
    (
        "funnel",
        "object",
        (
            "links announced, entered, fetched, kept, waiting, and coverage: kept / "
            "announced, 0 to 1 or null"
        ),
    ),
    ("links_a_day", "number?", "estimated new links per day"),
    ("failures", "integer", "consecutive failed polls"),
    ("status", "integer?", "last HTTP status"),
    ("error", "text?", "last error"),
    ("moved_from", "text?", "URL before it moved"),
    ("form", "text?", "format of its listings, and the metadata of their links"),
    ("form_before", "text?", "form before the last change"),
    ("form_changed", "time?", "when the form last changed"),
    ("hints", "object", "polling intervals it suggests, and URLs of its older pages"),
    (
        "backfill",
        "object?",
        (
            "the last requested backfill: first, last, takes_undated, asked_at, asked_by, "
            "state, why, ended_at, pages, unread, sitemaps, listed, entered, known, refused, "
            "outside, undated, earliest, next_page, next_at, attempts, trouble"
        ),
    ),
)
LOADED = (
    ("files", "integer", "number of files read"),
    ("unfinished", "list", "files that were not read to the end"),
    ("taken", "object", "records loaded, by source"),
    ("refused", "object", "records refused, by reason"),
    ("examples", "object", "samples of refused records, by reason"),
    ("failed", "list", "files that could not be read"),
)
CHANGED = (
    build_answer(
        "one",
        ("state", "text", "their new state"),
        ("sources", "list", "URLs of the sources"),
    ),
)
ADDED = (
    build_answer(
        "one",
        ("added", "list", "source_id and url of each new source"),
        ("known", "integer", "sources that were already followed"),
        ("refused", "object", "why other entries are not sources, by URL"),
    ),
)
MATCHED = (
    build_answer(
        "one",
        ("what", "text", "papers or references"),
        ("counts", "object", "number of matches, by status and reason"),
        ("examples", "object", "samples, by name"),
    ),
)
ANSWERS: Mapping[str, Sequence[AnswerDescription]] = {
    "collection create": (
        build_answer(
            "one",
            ("collection", "text", "NAMESPACE/KEY"),
            ("new", "boolean", "whether the collection was created"),
            ("put", "integer", "documents added by its rule"),
        ),
    ),
    "collection list": (build_answer("one for each collection", *COLLECTION),),
    "collection show": (
        build_answer(
            "one",
            *COLLECTION,
            (
                "clusterings",
                "list",
                ("conf, timestamp, documents and clusters of each stored clustering"),
            ),
            ("rebuilding", "list", "conf, stage, done, total and who of each running rebuild"),
        ),
    ),
    "collection add": (
        build_answer(
            "one",
            ("added", "integer", "new documents"),
            ("replaced", "integer", "documents that replaced older ones"),
            ("unchanged", "integer", "documents that were already in the collection"),
            ("refused", "integer", "lines that are not documents"),
        ),
    ),
    "collection remove": (
        build_answer(
            "one",
            ("removed", "integer", "documents removed"),
            ("absent", "integer", "documents that were not in the collection"),
        ),
    ),
    "collection delete": (
        build_answer(
            "one",
            ("deleted", "text", "NAMESPACE/KEY"),
            ("documents", "integer", "documents that were in the collection"),
        ),
    ),
    "collection frequencies": (
        build_answer(
            "one",
            ("collection", "text", "NAMESPACE/KEY"),
            ("documents", "integer", "documents counted"),
            ("terms", "integer", "distinct terms"),
            ("most", "list", "the most frequent terms: term and documents"),
        ),
    ),
    "configuration list": (CONFIGURATION,),
    "configuration show": (CONFIGURATION,),
    "configuration set": (CONFIGURATION,),
    "configuration remove": (
        build_answer("one", ("removed", "text", "name of the configuration")),
    ),
    "group": (
        build_answer(
            "one",
            ("collection", "text", "NAMESPACE/KEY"),
            ("conf", "text", "name of the configuration"),
            ("rebuilt", "object", "documents, clusters, apart, caught_up and when"),
        ),
    ),
    "clusters show": (
        build_answer(
            "one",
            ("name", "object", "namespace and key of the collection"),
            ("conf", "text", "name of the configuration"),
            ("timestamp", "integer", "build time, in Unix milliseconds"),
            ("level", "integer", "level shown; 0 is the coarsest"),
            ("clusters", "list", "clusters with id, label, size, terms and top documents"),
            ("apart", "object", "documents in no cluster, by reason"),
        ),
        build_answer(
            "one with LABEL",
            ("cluster", "object?", "the cluster; null for unclustered documents"),
            ("label", "text", "label of the cluster"),
            ("members", "list", "its documents with their scores"),
            ("after", "text?", "start of the next page, for --after"),
        ),
        build_answer(
            "one with --changes",
            ("conf", "text", "name of the configuration"),
            ("before", "integer", "time of the earlier clustering"),
            ("after", "integer", "time of the later clustering"),
            ("stayed", "number", "share of the documents that stayed in their cluster"),
            ("changes", "list", "change, before and after of each change"),
        ),
    ),
    "clusters rename": (build_answer("one", *_THEME),),
    "clusters pin": (build_answer("one", *_THEME),),
    "clusters unpin": (build_answer("one", *_THEME),),
    "clusters exclude": (build_answer("one", *_PLACEMENT_FIELDS),),
    "clusters include": (build_answer("one", *_PLACEMENT_FIELDS),),
    "sources add": ADDED,
    "sources import": ADDED,
    "sources list": (build_answer("one for each source", *SOURCE),),
    "sources poll": (
        build_answer("one", ("next", "list", "URLs of the sources that are polled next")),
    ),
    "sources edit": (build_answer("one", *SOURCE, ("last_polls", "list", "its last polls")),),
    "sources unmute": (build_answer("one", ("unmuted", "list", "URLs of the sources")),),
    "sources show": (
        build_answer("one for a source", *SOURCE, ("last_polls", "list", "its last polls")),
        build_answer(
            "one for a poll",
            ("input_id", "text", "poll id"),
            ("pipeline", "text", "pipeline that received its links"),
            ("url", "text", "URL that was requested"),
            ("at", "time?", "time of the poll"),
            ("new", "integer", "links that entered"),
            ("refused_anew", "object", "links refused, by reason"),
            ("error", "text?", "why it failed"),
            ("finished", "boolean", "whether the listing was read to the end"),
            ("listed*", "integer?", "links in the listing"),
            ("known*", "integer", "links that were already known"),
            ("problem*", "text?", "problem of the listing"),
            ("backfill*", "object", "for a poll of a backfill: pages, unread, outside, undated"),
            ("links", "list", "entry_id, url, outcome, reason and step of each link"),
        ),
    ),
    "sources check": (
        build_answer(
            "one for each source that can be read",
            ("source", "text", "requested URL"),
            ("url", "text", "URL that responded"),
            ("moved_to", "text?", "URL it moved to"),
            ("kind", "text", "rss, atom, sitemap, …"),
            ("title", "text?", "its own title"),
            ("listed", "integer", "links in the listing"),
            ("cut", "boolean", "whether it lists more links than are read"),
            ("refused", "object", "links that would be refused, by reason"),
            ("links", "list", "link, title and pub_date of each link"),
            ("problem", "text?", "problem of the listing"),
            ("hints", "object", "polling intervals it suggests"),
            ("older", "text?", "URL of its older pages"),
            ("sitemaps", "integer", "sitemaps of an index; 0 if it is not an index"),
        ),
        build_answer(
            "one for each source that cannot be read",
            ("source", "text", "requested URL"),
            ("error", "text", "why it cannot be read"),
        ),
    ),
    "sources mute": (
        build_answer(
            "one",
            ("muted", "list", "URLs of the sources"),
            ("until", "time?", "when the mute ends; null: when the source works again"),
        ),
    ),
    "sources backfill": (
        build_answer(
            "one",
            ("source", "text", "URL of the source"),
            ("first", "text", "first day"),
            ("last", "text", "last day"),
            ("undated", "boolean", "whether entries without a date are read"),
        ),
        build_answer(
            "one with --stop",
            ("source", "text", "URL of the source"),
            ("stopped", "boolean", "whether a backfill was running"),
        ),
    ),
    "sources pause": CHANGED,
    "sources resume": CHANGED,
    "sources remove": (build_answer("one", ("removed", "list", "URLs of the sources")),),
    "catalog load": (build_answer("one", *LOADED, ("seconds", "number", "duration in seconds")),),
    "catalog stats": (build_answer("one", *LOADED),),
    "catalog search": (
        build_answer(
            "one",
            ("works", "list", "at most 50 works"),
            ("more", "boolean", "whether there are more"),
        ),
    ),
    "catalog show": (
        build_answer(
            "one for each work",
            ("work", "object", "merged description of the work"),
            ("records", "object", "records of the work by source"),
        ),
    ),
    "match papers": MATCHED,
    "match references": MATCHED,
    "match strings": (
        build_answer(
            "one for each line",
            ("reference", "text", "the line"),
            ("status", "text", "strength: exact, strong, weak, ambiguous, none"),
            ("reason", "text", "why"),
            ("work", "text?", "id of the work"),
            ("doi", "text?", "DOI of the work"),
            ("score", "number?", "degree of agreement"),
            ("considered", "integer", "number of candidates compared"),
            ("common", "boolean", "whether many works have this title"),
            ("candidates", "list", "the closest candidates with evidence"),
        ),
    ),
    "match citations": (
        build_answer(
            "one for each reference",
            ("sha1hex", "text", "SHA-1 of the citing file"),
            ("number", "integer", "number of the reference, from 0"),
            ("updated", "time", "when it was matched"),
            ("reference", "text", "the reference as printed"),
            ("status", "text", "strength of the match"),
            ("reason", "text", "why"),
            ("work", "text?", "id of the work"),
            ("doi", "text?", "DOI of the work"),
            ("told_doi", "text?", "DOI stated in the reference"),
            ("score", "number?", "degree of agreement"),
        ),
    ),
}
