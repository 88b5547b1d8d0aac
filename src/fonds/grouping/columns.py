"""Columns of the tables of collections and clusterings.

Source: Grouperfish's HBase layout, v0.2, and the further columns in `docs/collections.md`.
"""

from __future__ import annotations

MAIN_FAMILY = "main:"
"""Prefix of the columns in the family `main`. As a column to read, it selects the whole family."""


class Column:
    """Names of columns, or prefixes of names that end with a document id, theme id or the like.

    A column of the same name in two tables has one name here. For example, `SIZE` is the number of
    documents of a collection and of a cluster.
    """

    NAMESPACE = "main:namespace"
    COLLECTION_KEY = "main:collection_key"
    ID = "main:id"
    LABEL = "main:label"
    SCORE = "main:score"
    SIZE = "main:size"
    CONF = "main:conf"
    TIMESTAMP = "main:timestamp"
    CONFIGURATION = "main:configuration"
    CHECKSUM = "main:checksum"
    """Checksum of the cells of a row that no other row has (`checksums.py`)."""

    # Documents
    TEXT = "main:text"
    TITLE = "main:title"
    URL = "main:url"
    LANGUAGE = "main:language"
    TIME = "main:time"
    SEQUENCE = "main:sequence"
    """Number of the collection change that wrote a document, or of the last one of a collection."""
    MEMBER_OF = "main:member_of"
    DOCUMENT_ID = "processing:id"
    VECTOR_PREFIX = "processing:vector_"
    VECTOR_IDF = "processing:vector_idf"
    VECTOR_TFIDF = "processing:vector_tfidf"
    VECTOR_DENSE = "processing:vector_dense"

    # Clusters
    LEVEL = "main:level"
    DISTINCT = "main:distinct"
    TERMS = "main:terms"
    """Terms of a cluster with their scores as JSON, or the number of sampled terms of a
    clustering.
    """
    PARENT = "main:parent"
    PARENT_LEVEL = "main:parent_level"
    X = "main:x"
    Y = "main:y"
    DOCUMENT_PREFIX = "documents:"

    # Assignments
    ORIGINAL = "main:original"
    COPY_PREFIX = "main:copy:"
    """Prefix in a document's first-level assignment row; one column per near-duplicate of the
    document, named by the near-duplicate's id.
    """

    # Collections
    MODIFIED = "main:modified"
    QUERY = "main:query"
    TEMPLATE = "main:template"
    TEMPLATE_OF = "main:template_of"
    CURATION = "main:curation"
    """Sum of the hashes of a collection's rows of the tables `themes` and `exclusions`."""
    COLLECTED = "main:collected"
    REMOVED = "main:removed"
    """Set before the rows of a collection are deleted. Once it is set, the collection is invisible
    to readers.
    """
    CONFIGURATION_PREFIX = "main:configuration:"
    INDEXED = "main:indexed"
    """State of the inverted index. The cell is empty while the index is being written."""
    INDEX = "processing:index"
    INDEX_IDS = "processing:index_ids"
    DICTIONARY = "processing:dictionary"

    # Clusterings
    STAGE = "main:stage"
    DONE = "main:done"
    TOTAL = "main:total"
    BEGUN = "main:begun"
    MOVED = "main:moved"
    ENDED = "main:ended"
    LEVELS = "main:levels"
    DOCUMENTS = "main:documents"
    CLUSTERS = "main:clusters"
    OUTLIERS = "main:outliers"
    UNKNOWN = "main:unknown"
    LATER = "main:later"
    LATER_OUTLIERS = "main:later_outliers"
    LATER_TERMS = "main:later_terms"
    LATER_UNKNOWN = "main:later_unknown"
    EVENTS = "main:events"
    DROPPED = "main:dropped"
    """Set before the rows of a clustering are deleted. Once it is set, readers and rebuilds ignore
    the clustering.
    """
    MODEL = "processing:model"
    DIRECTIONS = "processing:directions"
    CENTROIDS = "processing:centroids"
    REACH = "processing:reach"
    EVIDENCE = "processing:evidence"

    # Redo log of changes, and pages that an engine read
    REDO = "main:redo"
    IDS = "main:ids"
    SLICE = "main:slice"

    # Curators' decisions
    NAME = "main:name"
    NAMED = "main:named"
    PINNED = "main:pinned"
    EXCLUDED_FROM_PREFIX = "main:from:"
    """Prefix in an excluded document's row; one column per exclusion. The name of the
    configuration, a colon and the theme's id follow.
    """
