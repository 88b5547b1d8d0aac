"""Query language: parser, syntax tree, filters and completion."""
