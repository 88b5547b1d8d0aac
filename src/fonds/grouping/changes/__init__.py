"""Documents put and deleted, each change whole."""
