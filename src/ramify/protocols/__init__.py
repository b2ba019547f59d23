"""Meaning: from what was seen to events. One folder per protocol; this is the one list of them."""
