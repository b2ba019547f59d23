"""Records runs of the real Claude client as test cases, with the truth written down by who scripted them."""
