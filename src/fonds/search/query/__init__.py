"""Query language of searches: parser, syntax tree, filters and completion."""
