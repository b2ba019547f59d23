"""Ramify as a client of A2A agents: what it asks by itself, and how it follows a task and all that this one started."""
