"""HTML rendering: templates, charts, paging and tombstones."""
