"""Many texts replaced in one walk. A pattern of alternatives, or one replacement after the other, would take as many walks as
there are texts, and whoever sends a message says how many secrets are in it."""

import re
from collections.abc import Mapping

FEW = 16


class Echoes:
    """`found` says what takes the place of each; where several begin, the longest is meant."""

    def __init__(self, found: Mapping[str, str]) -> None:
        self._found = found
        longest = sorted(found, key=len, reverse=True)
        self._least = len(longest[-1]) if longest else 0
        self._either = re.compile("|".join(map(re.escape, longest))) if 0 < len(longest) <= FEW and self._least else None
        self._lengths: dict[str, list[int]] = {}
        for text in longest if self._either is None and self._least else ():
            known = self._lengths.setdefault(text[: self._least], [])
            if not known or known[-1] != len(text):
                known.append(len(text))

    def out_of(self, text: str) -> str:
        if self._either is not None:
            return self._either.sub(lambda match: self._found[match[0]], text)
        return self._walk(text) if self._lengths else text

    def _walk(self, text: str) -> str:
        pieces: list[str] = []
        done = at = 0
        lengths, least = self._lengths, self._least
        while at <= len(text) - least:
            for length in lengths.get(text[at : at + least], ()):
                if (part := text[at : at + length]) in self._found:
                    pieces += (text[done:at], self._found[part])
                    done = at = at + length
                    break
            else:
                at += 1
        return "".join((*pieces, text[done:])) if done else text
