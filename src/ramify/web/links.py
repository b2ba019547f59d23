"""A person's corrections: this task belongs there, or belongs to nothing."""

import msgspec

from ramify.model.mistake import UserMistake
from ramify.query.service import Answer
from ramify.web.route import Asked
from ramify.web.shapes import NewLink


def linked(asked: Asked) -> Answer:
    try:
        wish = msgspec.json.decode(asked.body, type=NewLink)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        hint = 'Send JSON: {"child": "<id>", "parent": "<id>"}'
        raise UserMistake(f"The body is no link: {error}", hint) from None
    return asked.ramify.link(wish.child, wish.parent)


def unlinked(asked: Asked) -> Answer:
    act = asked.ramify.withdraw if asked.given["withdraw"] else asked.ramify.unlink
    return act(asked.path["child"])


def previewed(asked: Asked) -> Answer:
    children = [child for child in asked.given["child"].split(",") if child]
    return asked.ramify.preview(children, asked.given["parent"] or "")
