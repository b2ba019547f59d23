"""From the text of a setting to its value. Each raises ValueError with the words that follow the name."""

HOUR = 3600
UNITS_OF_TIME = {"s": 1, "m": 60, "h": HOUR, "d": 24 * HOUR}
UNITS_OF_SIZE = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}


def read_text(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text.strip()


def read_port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 65535:
        raise ValueError("must be a number from 1 to 65535")
    return int(text)


def read_count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ValueError("must be a whole number, 1 or more")
    return int(text)


def read_address(text: str) -> str:
    address = text.strip().rstrip("/")
    if not address.startswith(("http://", "https://")) or not address.partition("://")[2]:
        raise ValueError("must be an address that begins with http:// or https://")
    return address


def read_names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names:
        raise ValueError("must be one or more names with commas between them")
    return names


def read_folders(text: str) -> tuple[str, ...]:
    folders = tuple(folder.strip() for folder in text.split(",") if folder.strip())
    if not folders:
        raise ValueError("must be one or more folders with commas between them")
    return folders


def read_duration(text: str) -> int:
    """Seconds. A bare number is refused: 30 of what?"""
    number, unit = text.strip()[:-1], text.strip()[-1:].lower()
    if unit not in UNITS_OF_TIME or not number.isascii() or not number.isdigit() or int(number) < 1:
        raise ValueError("must be a time such as 30s, 10m, 24h or 7d")
    return int(number) * UNITS_OF_TIME[unit]


def read_size(text: str) -> int:
    """Bytes."""
    squeezed = text.replace(" ", "").lower()
    number = squeezed.rstrip("bgikm")
    unit = squeezed[len(number) :]
    if not number.isascii() or not number.isdigit() or unit not in UNITS_OF_SIZE or int(number) < 1:
        raise ValueError("must be a size such as 500MB or 1GiB")
    return int(number) * UNITS_OF_SIZE[unit]
