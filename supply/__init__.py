"""What Ramify is made of and how it is packed: licences, and a wheel that anybody can build again."""
