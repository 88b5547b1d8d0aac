"""What the commands about single stores share."""
