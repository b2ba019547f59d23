"""Asks agents how the tasks stand that the event log holds for open, and stores what it had missed. It never sends work."""
