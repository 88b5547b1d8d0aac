"""Entry point of `python -m fonds`, the same as the command `fonds`."""

from fonds.cli.main import main

main()
