"""Where an agent answers, without what may be a key."""


def place_of(address: object) -> str | None:
    """A URL without user, password, query and fragment; None for what is none."""
    from urllib.parse import urlsplit

    if not isinstance(address, str) or not address.startswith(("http://", "https://")):
        return None
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
