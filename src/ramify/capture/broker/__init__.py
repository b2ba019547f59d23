"""Ways to hear a broker's messages: each is a `Receiver`, and nothing else knows which broker it is."""
