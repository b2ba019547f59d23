"""The audit, for admins: an admin of some projects is told what concerns those."""

from aiohttp import web

from ramify.query.audit import Wanted, audit
from ramify.web.event_questions import moment
from ramify.web.route import PAGE, Parameter, read_parameters
from ramify.web.served import IDENTITY, RAMIFY
from ramify.web.tokens import answered, aside

QUESTION = (
    Parameter("who", "string", "only what they did, by the name of a token or a user"),
    Parameter("act", "string", "only this, such as `forget` or `read-body`"),
    Parameter("since", "string", "from this time on: ISO 8601 with a zone"),
    Parameter("until", "string", "up to this time"),
    *PAGE,
)


async def listed(request: web.Request) -> web.StreamResponse:
    given = read_parameters(request.query.items(), QUESTION)
    since, until = moment(request.query, "since", Wanted().since), moment(request.query, "until", Wanted().until)
    wanted = Wanted(given["who"] or "", given["act"] or "", since, until, request[IDENTITY].projects)
    found = await aside(request, audit, request.app[RAMIFY].questions.store, wanted, given["limit"], given["cursor"])
    return await answered(request, found)
