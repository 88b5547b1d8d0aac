"""Entry point of `python -m fonds`, which runs the same program as the command `fonds`."""

from fonds.cli.main import main

main()
