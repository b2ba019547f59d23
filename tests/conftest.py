"""What holds for all tests."""

from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # a busy machine is no defect
settings.load_profile("any machine")
