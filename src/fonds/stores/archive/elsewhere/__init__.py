"""Bodies read from where no path of this machine leads: URLs, web archives, petabox items."""
