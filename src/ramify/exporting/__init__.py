"""A run as something to pass on: a file of the log, a page, tables, a text, spans."""
