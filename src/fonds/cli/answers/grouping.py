"""Answers of the commands of collections, clusters, sources, catalogue and matching."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fonds.cli.answers.answer import build_answer
from fonds.cli.json_answers import AnswerDescription

COLLECTION = (
    ("collection", "text", "NAMESPACE/KEY"),
    ("namespace", "text", "the first half"),
    ("key", "text", "the second half"),
    ("size", "integer", "documents in it"),
    ("modified", "integer", "when it changed last, in Unix milliseconds"),
    ("query", "text", "its rule, empty for none"),
    ("template", "text", "the template it was made by, empty for none"),
    ("served", "list", "the clusterings that are served: conf and when each was built"),
)
_THEME = (
    ("id", "text", "the theme's id, which stays over rebuilds"),
    ("label", "text", "what the machine called it"),
    ("name", "text", "what a person called it, empty for nothing"),
    ("pinned", "boolean", "whether it stands before the others"),
)
_PLACEMENT_FIELDS = (
    ("id", "text", "the theme's id"),
    ("label", "text", "its label, empty where it is gone"),
    ("documents", "integer", "how many were taken out, or put back, just now"),
)
CONFIGURATION = build_answer(
    "one",
    ("name", "text", "its name"),
    ("algorithm", "text", "topics, stories, factors or density"),
    ("clusters", "integer?", "how many clusters, null for found by itself"),
    ("clusters_max", "integer", "at most so many"),
    ("granularities", "list", "clusters of further levels"),
    ("threshold", "number", "least cosine of two in one story"),
    ("half_life_s", "number?", "how soon nearness in time counts half"),
    ("size_min", "integer", "smaller clusters are none"),
    ("seed", "integer", "of the random numbers"),
    ("characters_min", "integer", "shorter texts are in no cluster"),
    ("languages", "list", "languages grouped, empty for all"),
    ("where", "list", "FIELD=VALUE documents must have"),
    ("dense", "integer?", "numbers of a vector of a document"),
    ("encoder", "text?", "model that makes vectors of the texts"),
    ("growth_max", "number?", "growth that makes a rebuild due"),
    ("outliers_factor", "number?", "outliers that make a rebuild due"),
    ("unknown_max", "number?", "new words that make a rebuild due"),
    ("every_s", "integer?", "seconds that make a rebuild due"),
    ("kept", "integer", "clusterings that are kept"),
)
SOURCE = (
    ("source_id", "text", "its id"),
    ("url", "text", "its address"),
    ("kind", "text", "feed, sitemap, page or api"),
    ("standing", "text", "waiting, active, silent, quiet, failing, dead, muted, paused or gone"),
    ("title", "text", "what it is called"),
    ("folder", "text", "where it stands in OPML"),
    ("collection", "text", "collection its links are taken in under"),
    ("pipeline", "text?", "pipeline its links come into"),
    ("tls", "text", "how certificates are looked at"),
    ("added_at", "time?", "when it was added"),
    ("polled_last", "time?", "when it was polled last"),
    ("polled_next", "time?", "when it is polled next"),
    ("well_last", "time?", "when it was last read without fault"),
    ("new_last", "time?", "when it last had something new"),
    ("polls", "integer", "how often it was polled"),
    ("links", "integer", "links that entered"),
    ("listed", "integer?", "links in the last listing that had any"),
    ("failing_since", "time?", "since when its polls fail, null also where that is not known"),
    ("silent_since", "time?", "since when it lists nothing, where it used to"),
    ("muted", "object?", "since, until (null until it is well again) and note, while it is muted"),
    ("refused", "object", "links refused before they entered, by reason"),
    (
        "funnel",
        "object",
        "links announced, entered, fetched, kept, waiting, and coverage: kept of announced, 0 to 1 or null",
    ),
    ("links_a_day", "number?", "new links a day, as far as was seen"),
    ("failures", "integer", "polls in a row that failed"),
    ("status", "integer?", "the last HTTP status"),
    ("error", "text?", "what went wrong last"),
    ("moved_from", "text?", "where it was before"),
    ("form", "text?", "format of its listings, and what their links are told with"),
    ("form_before", "text?", "what the form was before it changed last"),
    ("form_changed", "time?", "when it changed last"),
    ("hints", "object", "what it says of how often to ask, and where it lists what came before"),
    (
        "backfill",
        "object?",
        "the last one asked for: first, last, takes_undated, asked_at, asked_by, state, why, ended_at, pages,"
        " unread, sitemaps, listed, entered, known, refused, outside, undated, earliest, next_page, next_at,"
        " attempts, trouble",
    ),
)
LOADED = (
    ("files", "integer", "files read"),
    ("unfinished", "list", "files that were not read to their end"),
    ("taken", "object", "records taken in, by source"),
    ("refused", "object", "records refused, by reason"),
    ("examples", "object", "a few of those refused, by reason"),
    ("failed", "list", "files that could not be read"),
)
CHANGED = (
    build_answer(
        "one",
        ("state", "text", "what they are now"),
        ("sources", "list", "their addresses"),
    ),
)
ADDED = (
    build_answer(
        "one",
        ("added", "list", "source_id and url of each that is new"),
        ("known", "integer", "sources that were followed already"),
        ("refused", "object", "why each other is none, by address"),
    ),
)
MATCHED = (
    build_answer(
        "one",
        ("what", "text", "papers or references"),
        ("counts", "object", "how many were matched, by status and reason"),
        ("examples", "object", "a few, by name"),
    ),
)
ANSWERS: Mapping[str, Sequence[AnswerDescription]] = {
    "collection create": (
        build_answer(
            "one",
            ("collection", "text", "NAMESPACE/KEY"),
            ("new", "boolean", "whether there was none of this name"),
            ("put", "integer", "documents its rule took in"),
        ),
    ),
    "collection list": (build_answer("one for each collection", *COLLECTION),),
    "collection show": (
        build_answer(
            "one",
            *COLLECTION,
            ("clusterings", "list", "conf, timestamp, documents, clusters of each that is kept"),
            ("rebuilding", "list", "conf, stage, done, total, who of each rebuild under way"),
        ),
    ),
    "collection add": (
        build_answer(
            "one",
            ("added", "integer", "new documents"),
            ("replaced", "integer", "documents put in the place of older ones"),
            ("unchanged", "integer", "documents that were there already"),
            ("refused", "integer", "lines that are no documents"),
        ),
    ),
    "collection remove": (
        build_answer(
            "one",
            ("removed", "integer", "documents taken out"),
            ("absent", "integer", "documents that were not there"),
        ),
    ),
    "collection delete": (
        build_answer(
            "one",
            ("deleted", "text", "NAMESPACE/KEY"),
            ("documents", "integer", "documents that were in it"),
        ),
    ),
    "collection frequencies": (
        build_answer(
            "one",
            ("collection", "text", "NAMESPACE/KEY"),
            ("documents", "integer", "documents counted"),
            ("terms", "integer", "distinct terms"),
            ("most", "list", "term and documents of each of the most frequent"),
        ),
    ),
    "configuration list": (CONFIGURATION,),
    "configuration show": (CONFIGURATION,),
    "configuration set": (CONFIGURATION,),
    "configuration remove": (build_answer("one", ("removed", "text", "its name")),),
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
            ("timestamp", "integer", "when it was built, in Unix milliseconds"),
            ("level", "integer", "the level shown, 0 for the coarsest"),
            ("clusters", "list", "id, label, size, terms, top documents of each"),
            ("apart", "object", "documents in no cluster, by reason"),
        ),
        build_answer(
            "of one LABEL: one",
            ("cluster", "object?", "the cluster, null for those apart"),
            ("label", "text", "its label"),
            ("members", "list", "its documents with their scores"),
            ("after", "text?", "where the next page begins, for --after"),
        ),
        build_answer(
            "with --changes, one",
            ("conf", "text", "name of the configuration"),
            ("before", "integer", "time of the earlier clustering"),
            ("after", "integer", "time of the later one"),
            ("stayed", "number", "share of the documents that stayed where they were"),
            ("changes", "list", "change, before, after of each"),
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
    "sources poll": (build_answer("one", ("next", "list", "their addresses, polled next")),),
    "sources edit": (build_answer("one", *SOURCE, ("last_polls", "list", "its last polls")),),
    "sources unmute": (build_answer("one", ("unmuted", "list", "their addresses")),),
    "sources show": (
        build_answer("of a source: one", *SOURCE, ("last_polls", "list", "its last polls")),
        build_answer(
            "of a poll: one",
            ("input_id", "text", "its id"),
            ("pipeline", "text", "pipeline its links came into"),
            ("url", "text", "address that was asked"),
            ("at", "time?", "when"),
            ("new", "integer", "links that entered"),
            ("refused_anew", "object", "links refused, by reason"),
            ("error", "text?", "why it failed"),
            ("finished", "boolean", "whether the listing was read to its end"),
            ("listed*", "integer?", "links in the listing"),
            ("known*", "integer", "links that were known"),
            ("problem*", "text?", "what is wrong with the listing"),
            ("backfill*", "object", "of a poll of a backfill: pages, unread, outside, undated"),
            ("links", "list", "entry_id, url, outcome, reason, step of each"),
        ),
    ),
    "sources check": (
        build_answer(
            "one for each source that can be read",
            ("source", "text", "the address asked for"),
            ("url", "text", "the address that answered"),
            ("moved_to", "text?", "where it says it has moved"),
            ("kind", "text", "what it is: rss, atom, sitemap, …"),
            ("title", "text?", "what it calls itself"),
            ("listed", "integer", "links it lists"),
            ("cut", "boolean", "whether it lists more than is read"),
            ("refused", "object", "links that would be refused, by reason"),
            ("links", "list", "link, title, pub_date of each"),
            ("problem", "text?", "what is wrong with the listing"),
            ("hints", "object", "what it says of how often to ask"),
            ("older", "text?", "where it lists what came before"),
            ("sitemaps", "integer", "sitemaps of an index, 0 for what is none"),
        ),
        build_answer(
            "one for each that cannot",
            ("source", "text", "the address asked for"),
            ("error", "text", "why not"),
        ),
    ),
    "sources mute": (
        build_answer(
            "one",
            ("muted", "list", "their addresses"),
            ("until", "time?", "until when, null until each is well again"),
        ),
    ),
    "sources backfill": (
        build_answer(
            "one",
            ("source", "text", "its address"),
            ("first", "text", "the first day"),
            ("last", "text", "the last day"),
            ("undated", "boolean", "whether entries that say no day are taken"),
        ),
        build_answer(
            "with --stop, one",
            ("source", "text", "its address"),
            ("stopped", "boolean", "whether a backfill was going on"),
        ),
    ),
    "sources pause": CHANGED,
    "sources resume": CHANGED,
    "sources remove": (build_answer("one", ("removed", "list", "their addresses")),),
    "catalog load": (build_answer("one", *LOADED, ("seconds", "number", "how long it took")),),
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
            ("work", "object", "what is known of it"),
            ("records", "object", "what each source says of it"),
        ),
    ),
    "match papers": MATCHED,
    "match references": MATCHED,
    "match strings": (
        build_answer(
            "one for each line",
            ("reference", "text", "the line"),
            ("status", "text", "how surely: exact, strong, weak, ambiguous, none"),
            ("reason", "text", "why"),
            ("work", "text?", "id of the work"),
            ("doi", "text?", "its DOI"),
            ("score", "number?", "how much agrees"),
            ("considered", "integer", "candidates looked at"),
            ("common", "boolean", "whether its title is one many works have"),
            ("candidates", "list", "the nearest, with their evidence"),
        ),
    ),
    "match citations": (
        build_answer(
            "one for each reference",
            ("sha1hex", "text", "SHA-1 of the citing file"),
            ("number", "integer", "number of the reference, from 0"),
            ("updated", "time", "when it was matched"),
            ("reference", "text", "as it is printed"),
            ("status", "text", "how surely it was matched"),
            ("reason", "text", "why"),
            ("work", "text?", "id of the work"),
            ("doi", "text?", "its DOI"),
            ("told_doi", "text?", "the DOI the reference itself states"),
            ("score", "number?", "how much agrees"),
        ),
    ),
}
