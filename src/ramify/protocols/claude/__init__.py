"""What Claude Code and its SDK report about a run: transcripts, message streams, hooks."""
