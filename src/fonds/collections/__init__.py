"""Collections of documents, and their clusterings: stored, changed, built, served; on any table.

Who serves collections opens two values and calls plain functions. Nothing here knows a command or a page.

    tables = Tables(stores.table, prefix)                       tables.py; `declare()` once
    changes = Changes(tables, Claims(stores.records, this_process(), time.monotonic), now)

    changes.put(name, [Document(id, text, title, url, language, time)])    changing/writing.py
    changes.delete(name, ids)
    create(changes, name, query, template); remove(changes, name)          changing/collections.py
    configurations.put / get / remove / every(tables, namespace, conf)     configurations.py
    rebuild(changes, name, conf, threads=, progress=) -> Rebuilt           building/rebuilding.py
    tend(changes, name) -> what died is finished, what is beyond is gone   building/tending.py

    collections(tables, namespace), collection(tables, name)               reading/clusterings.py
    clusterings(tables, name, conf), progress(tables, claims, name)
    clusters(tables, name, conf, timestamp, level=, top=)                  reading/clusters.py
    cluster(tables, name, label_or_id, …), members(…, after=, count_max=)
    document(tables, name, id), places(tables, name, id), why(…)           reading/documents.py
    changes_between(tables, name, conf, before=, after=)                   reading/lineage.py

`Name(namespace, key)` names a collection (`names.parse("news/2026-11")`). Reading needs neither claims nor
the arithmetic; `why`, `changes_between`, placing and building load it when they are called. What is not
there is None; a name or value that is none raises ValueError with a sentence for people.

Changes of one collection are made by one process at a time (`claims.py`), each written down whole before it
is done (`changing/redo.py`), so that sizes are right whoever dies. Readers wait for nobody: they see the
clustering that one cell names, `configuration:<conf>:rebuilt`. The rows are described in
docs/collections.md.
"""
