"""The query syntax of people: its fields, its tree, and how a text becomes one."""
