"""What the commands about links and sources have in common."""
