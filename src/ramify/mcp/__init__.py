"""Agents ask about runs, also their own: the questions as tools of an MCP server on standard input and output.

The server's side of the protocol is four methods in JSON lines, written here: the official package would bring forty
megabytes and a second to start for them. Its real client is what the tests use.
"""
