"""The forms a result is exported in: rows, tables, references, WARC."""
