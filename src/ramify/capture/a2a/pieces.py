"""One text in several pieces, of which some has to go."""


def spread(texts: list[str], before: str, after: str) -> list[str]:
    """The pieces of `before` when it reads `after`: what is new stands in the first piece that it touches. `before` may
    begin with more than the pieces; that was told already, and stays."""
    start = same_start(before, after)
    same = same_end(before[start:], after[start:])
    end, new = len(before) - same, after[start : len(after) - same]
    found: list[str] = []
    at = len(before) - sum(map(len, texts))
    for text in texts:
        first, last = max(start - at, 0), min(end - at, len(text))
        if first < last:
            text, new, at = text[:first] + new + text[last:], "", at + len(text)
        else:
            at += len(text)
        found.append(text)
    return found


def same_start(one: str, other: str) -> int:
    return next((at for at, (here, there) in enumerate(zip(one, other, strict=False)) if here != there), min(len(one), len(other)))


def same_end(one: str, other: str) -> int:
    return same_start(one[::-1], other[::-1])
