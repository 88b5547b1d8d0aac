"""Search on the pages: what is asked, its facets, its hits, its whole result, its feed."""
