"""Documents of themes as lines, and places in their lists."""
