"""What holds for every test: none depends on how fast the machine is."""

from hypothesis import settings

settings.register_profile("fonds", deadline=None)
settings.load_profile("fonds")
