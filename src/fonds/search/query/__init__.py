"""Query language: its fields, its parser, and the tree it produces."""
