"""Documents to vectors, clusters, labels and lineage: arrays in, arrays out; no stores, no clock.

Who stores and serves groupings calls four functions. Documents are known by their place in what is given;
who calls keeps the ids and titles.

    building.build(Documents(texts, languages, times_s, dense), Options(...), version=, before=, progress=)
        -> Clustering: levels of labelled clusters, every document's cluster and score, what changed since
           `before`, the model, and the rows of `vector_idf` and `vector_tfidf`
    building.Counted(counts, texts, times_s, dense)
        -> the same instead of Documents, for more texts than memory takes: `text.reading.Reader` reads them
           in slices, `text.collection.TermCounts` keeps what is counted
    assigning.assign(model, texts, languages, dense)
        -> Assigned: the same for documents that come later; nothing of the model changes
    lineage.carried(...)
        -> ids that stay over rebuilds, with what was kept, grown, split, merged, is new or gone
    dense.Encoder(...).encode(texts)
        -> dense vectors, with the extra `dense`

`version` numbers a build of one collection: the rebuild's timestamp serves. It stands in the dictionary,
in every stored vector and in the ids of new clusters. `before` is the clustering before, as the cluster
of each document that is given now and the ids: with it a rebuild begins warm. A family of algorithms is
one function of prepared vectors and options (`families/partition.py`), entered in `building.FAMILIES`.

What is stored of all this has its bytes in `fonds.formats.grouping`, over the values of
`fonds.model.vectors`.
"""
