"""Figures in the sentences of findings."""


def lasting(microseconds: int) -> str:
    seconds = max(0, microseconds) // 1_000_000
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.01 else f"${amount:.4f}"
