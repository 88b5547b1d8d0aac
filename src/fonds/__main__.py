"""`python -m fonds` is `fonds`."""

from fonds.cli.main import main

main()
