"""The full-text index in a folder of this machine, by the tantivy library."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fcntl import LOCK_EX, flock
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import tantivy
from tantivy import Query

from fonds.model.document import IndexDocument, SearchQuery, SearchResults
from fonds.model.errors import FondsError
from fonds.model.generation import NOTHING_YET, generation
from fonds.stores.index import tantivy_query
from fonds.stores.index.asked import checked
from fonds.stores.index.likeness import faults_allowed, likest
from fonds.stores.index.nothing_found import with_notes
from fonds.stores.index.tantivy_faults import WRITER_DIED, translated
from fonds.stores.index.tantivy_results import nothing, results
from fonds.stores.index.tantivy_schema import (
    from_tantivy,
    register_analyzer,
    schema,
    to_tantivy,
    without_surrogates,
)
from fonds.words import words

READERS_LOCK = ".tantivy-meta.lock"
"""What the library holds while it opens the files of a commit."""
WRITER_MEMORY_BYTES = 48_000_000
ALIKE_LOOKED_MAX, ALIKE_CHARACTERS_MAX = 100, 200_000


def distinct_words(document: IndexDocument, text: str) -> set[str]:
    """The words of a title and of the beginning of a text, each once."""
    return {*words(document.article_title or ""), *words(text[:ALIKE_CHARACTERS_MAX])}


def generation_of(folder: Path) -> str | None:
    """Of what was committed last to the index in `folder`; None where its heart says nothing of it."""
    try:
        told = json.loads((folder / "meta.json").read_bytes())
        parts = [
            f"{one['segment_id']} {(one['deletes'] or {}).get('opstamp')}"
            for one in told["segments"]
        ]
        return generation(int(told["opstamp"]), parts)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def drop_leavings(folder: Path) -> None:
    """Remove files of deletions that no commit names: those of a writer that died before its commit did. They
    are named by a count the next writer begins anew, which would meet them and could not write its own. Only
    for who may write, and while nobody opens the index.
    """
    told = json.loads((folder / "meta.json").read_bytes())
    named = {
        f"{one['segment_id'].replace('-', '')}.{one['deletes']['opstamp']}.del"
        for one in told["segments"]
        if one["deletes"]
    }
    with (folder / READERS_LOCK).open("ab") as lock:
        flock(lock, LOCK_EX)
        for path in folder.glob("*.del"):
            if path.name not in named:
                path.unlink()


class TantivyIndex:
    """Full text in `folder`, which the first `put` makes; until then everything is empty.

    Any number of processes read, also where nothing may be written. One writes: the first `put` or `delete`
    takes a lock that the system frees when the process ends, however it ends; others get
    StoreUnavailableError. What was put is found at once, by every process. Lone surrogates in texts are left
    out. Raises ConfigurationError when the folder is damaged or of another version. A process forks before
    its first `put`, not after.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._schema = schema()
        self._write_lock = Lock()
        self._writer: tantivy.IndexWriter | None = None
        self._read_lock = Lock()
        self._reader: tantivy.Index | None = None
        self._read_version: tuple[int, int, int] | None = None
        self._generation: str | None = None
        self._mirror: TemporaryDirectory[str] | None = None

    def put(self, documents: Sequence[IndexDocument]) -> None:
        """One commit for the batch; of several documents with one id the last wins."""
        if documents:
            self._write(documents, [])

    def delete(self, ids: Sequence[str]) -> None:
        """Remove documents, in one commit."""
        with translated(self._folder):
            exists = self._version() is not None
        if ids and exists:
            self._write([], ids)

    def get(self, ids: Sequence[str]) -> dict[str, IndexDocument]:
        """Whole documents by id, those that exist."""
        wanted = sorted({without_surrogates(id_) for id_ in ids})
        with translated(self._folder):
            searcher = self._searcher()
            if searcher is None or not wanted:
                return {}
            query = Query.term_set_query(self._schema, "id", wanted)
            found = searcher.search(query, limit=len(wanted), count=False)
            stored = [from_tantivy(searcher.doc(address)) for _, address in found.hits]
        return {document.id: replace(document, text_content=text) for document, text in stored}

    def search(self, query: SearchQuery) -> SearchResults:
        """Raises ValueError with a sentence for people."""
        query = checked(query)
        tree = tantivy_query.parsed(query)
        wanted = tantivy_query.build(query, tree, self._schema)
        with translated(self._folder):
            searcher, seen = self._reading()
            if searcher is None:
                return nothing(NOTHING_YET)
            found = results(searcher, wanted, query, tree)
        return with_notes(replace(found, generation=seen, match=query.match), self, query, tree)

    def alike(self, word: str) -> Sequence[str]:
        """Out of the documents that have such words, a hundred at most."""
        allowed = faults_allowed(word)
        if not allowed:
            return []
        query = tantivy_query.fuzzy(word, allowed, self._schema)
        with translated(self._folder):
            searcher = self._searcher()
            if searcher is None:
                return []
            found = searcher.search(query, limit=ALIKE_LOOKED_MAX, count=False)
            texts = [from_tantivy(searcher.doc(address)) for _, address in found.hits]
        return likest(
            word, Counter(one for rest, text in texts for one in distinct_words(rest, text)).items()
        )

    def count(self) -> int:
        """How many documents there are."""
        with translated(self._folder):
            searcher = self._searcher()
            return 0 if searcher is None else searcher.num_docs

    def close(self) -> None:
        """Finish merging and let another process write; the next `put` takes the lock again."""
        with self._write_lock, translated(self._folder):
            writer, self._writer = self._writer, None
            if writer is not None:
                writer.wait_merging_threads()

    def _write(self, documents: Sequence[IndexDocument], deleted: Sequence[str]) -> None:
        with self._write_lock:
            try:
                self._change(documents, deleted)
            except BaseException as error:
                reason = self._reason_of_death() if WRITER_DIED in str(error) else None
                # A writer that failed stays unusable, and what it had not committed is not to come
                # with a later batch.
                self._writer = None
                if reason is not None:
                    raise reason from error
                raise

    def _reason_of_death(self) -> FondsError | None:
        """The library says what its thread died of only to a commit, which waits for the thread."""
        try:
            with translated(self._folder):
                self._opened_writer().commit()
        except FondsError as reason:
            return reason
        return None

    def _change(self, documents: Sequence[IndexDocument], deleted: Sequence[str]) -> None:
        for id_ in deleted:
            self._replace(id_, None)
        for document in documents:
            self._replace(document.id, to_tantivy(document, self._schema))
        with translated(self._folder):
            self._opened_writer().commit()

    def _replace(self, id_: str, document: tantivy.Document | None) -> None:
        with translated(self._folder):
            self._opened_writer().delete_documents_by_term("id", without_surrogates(id_))
            if document is not None:
                self._opened_writer().add_document(document)

    def _opened_writer(self) -> tantivy.IndexWriter:
        """Not to be kept in a variable: the traceback of an error would hold it, and with it the lock."""
        if self._writer is None:
            self._version()
            self._folder.mkdir(parents=True, exist_ok=True)
            self._writer = self._open().writer(WRITER_MEMORY_BYTES, num_threads=1)
            drop_leavings(self._folder)
        return self._writer

    def _open(self, folder: Path | None = None) -> tantivy.Index:
        index = tantivy.Index(self._schema, path=str(folder or self._folder))
        register_analyzer(index)
        index.config_reader("manual")
        return index

    def _searcher(self) -> tantivy.Searcher | None:
        """One that sees the last commit of any process; None while there is no index."""
        return self._reading()[0]

    def _reading(self) -> tuple[tantivy.Searcher | None, str | None]:
        """The same, and the generation of all it sees; None where that is not known."""
        with self._read_lock:
            version = self._version()
            if version is None:
                self._reader = None
                return None, None
            if not os.access(self._folder, os.W_OK):
                return self._mirrored(version), self._generation
            if self._reader is None:
                self._reader, self._read_version = self._open(), None
            if version != self._read_version:
                self._reload(self._reader, version)
            return self._reader.searcher(), self._generation

    def _reload(self, reader: tantivy.Index, version: tuple[int, int, int]) -> None:
        """See the last commit. Its generation is known unless another came meanwhile; the next who reads sees
        that one."""
        reader.reload()
        read = generation_of(self._folder)
        self._generation = read if self._version() == version else None
        self._read_version = version

    def _mirrored(self, version: tuple[int, int, int]) -> tantivy.Searcher:
        """Reading takes a lock, for which the library makes a file: where none can be made, in a folder of
        links to the index."""
        if self._reader is None or version != self._read_version:
            mirror = TemporaryDirectory(prefix="fonds-index-")
            for path in self._folder.iterdir():
                if path.suffix != ".lock":
                    Path(mirror.name, path.name).symlink_to(path.absolute())
            self._reader = self._open(Path(mirror.name))
            self._mirror = mirror
            self._reload(self._reader, version)
        return self._reader.searcher()

    def _version(self) -> tuple[int, int, int] | None:
        """Changes with every commit; None while there is no index. Raises when its heart was lost."""
        try:
            status = (self._folder / "meta.json").stat()
        except FileNotFoundError:
            if any(self._folder.glob("*.store")):
                raise ValueError("meta.json is missing") from None
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size
