"""What each command answers with `--json`: its objects and their fields, as data a page and a test go by."""
