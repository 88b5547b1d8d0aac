"""What the commands about collections share."""
