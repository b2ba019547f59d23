"""The event log's fold: lines of one session, in the order in which the log took them, to tasks and operations."""
