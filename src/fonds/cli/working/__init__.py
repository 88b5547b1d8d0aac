"""How commands work a pipeline off: until it is empty, or as a service; in one process or several."""
