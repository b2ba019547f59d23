"""Ramify: what your AI agents, and the agents those agents started, really did."""

__version__ = "0.1.0"
