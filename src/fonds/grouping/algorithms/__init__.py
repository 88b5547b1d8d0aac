"""Algorithms that turn documents into vectors, clusters, labels and lineage.

The algorithms take and return arrays; they use no stores and no clock. Documents are identified by
their position in the input. The caller keeps ids and titles.

The entry points:
- `builder.build(GroupingInput(texts, languages, times_s, dense), Options(...), version=, previous=,
  progress=)` returns a `Clustering`: levels of labelled clusters, the cluster and score of each
  document, changes since `previous`, the model, and the rows of `vector_idf` and `vector_tfidf`.
- `builder.CountedDocuments(counts, texts, times_s, dense)` replaces `GroupingInput` for more texts
  than fit in memory. `corpus.TermReader` reads them in slices and `corpus.TermCounts` collects the
  counts.
- `assignment.assign(model, texts, languages, dense)` returns `Assignments` for documents that are
  added after the rebuild. It does not change the model.
- `lineage.carry_ids(...)` returns ids that persist over rebuilds, and which clusters were kept,
  grew, split, merged, are new or gone.
- `encoder.Encoder(...).encode(texts)` returns dense vectors; it needs the extra `dense`.

`version` numbers the builds of one collection, for example by the rebuild's timestamp. It is part
of the dictionary, of each stored vector and of the ids of new clusters. `previous` is the previous
clustering: the cluster of each input document, and the cluster ids. A rebuild with `previous`
starts from the previous clusters.

A family of algorithms is one function from prepared documents and options to a `methods.Partition`.
Each is registered in `builder.FAMILIES`.

The package `fonds.grouping.stored` encodes these results for the tables.
"""
