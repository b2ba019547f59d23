"""A2A as it is seen: named agents behind a reverse proxy that watches, and frames of captured traffic from files."""
