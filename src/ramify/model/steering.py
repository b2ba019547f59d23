"""Characters that steer whoever shows a text: a terminal, or the reader's eye."""

import re

# C0, DEL and C1 steer the terminal; bidi controls and tags make text read as other than it is;
# separators break lines where we did not; lone surrogates cannot be written at all.
STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
HALF = re.compile("[\ud800-\udfff]")
"""Of a character: what a terminal sends that is no Unicode. No store holds it, and none can be asked for it."""
BUT_BREAKS = re.compile(rf"(?![\n\t]){STEERING.pattern}")
CONTROL_PICTURES = 0x2400  # U+2400 is the picture of U+0000, and so on


def picture(found: re.Match[str]) -> str:
    point = ord(found.group())
    if point < 0x20:
        return chr(CONTROL_PICTURES + point)
    if point == 0x7F:
        return "\u2421"
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{{{point:x}}}"
