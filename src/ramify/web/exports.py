"""A run as a file to pass on, and what would be in it."""

from ramify.query.service import Answer
from ramify.web.route import Asked, Download, Parameter

WISH = (
    Parameter("to", "string", "the format", choices=("html", "markdown", "jsonl", "otlp", "parquet"), required=True),
    Parameter("results", "boolean", "html, markdown: with what tools gave back", True),
    Parameter("bodies", "boolean", "html: with requests and answers as they were on the wire", False),
    Parameter("content", "boolean", "otlp: with what was said", False),
)


def saved(asked: Asked) -> Download:
    offer = asked.ramify.exports.asked(asked.path["id"], asked.given)
    name, _, ending = offer.name.partition(".")
    return Download(b"".join(offer.pieces), [("content-type", offer.kind)], name, ending)


def previewed(asked: Asked) -> Answer:
    return asked.ramify.exports.previewed(asked.path["id"], asked.given)
