"""The tables of the SQL store, and what their columns hold."""
