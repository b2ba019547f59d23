"""What a request's words say by themselves, and the keys under which others will look for it."""



from ramify.linking import results
from ramify.linking.chain import Chain, extend
from ramify.linking.conversation import (
    CHUNK,
    before,
    earlier_alike,
    later_alike,
)
from ramify.linking.toolcalls import wake_offers
from ramify.linking.world import NEWEST, World, chain_key, key
from ramify.model.entity import Answered, Call

WORKFLOW_STEP = "[Workflow harness"



def read(world: World, call: Call, chain: Chain) -> None:
    """What the request's words say by themselves, and the keys under which others will look for it."""
    call.atoms, call.end = len(chain.atoms), chain.end
    call.opening = "assistant" not in chain.roles
    call.claims = claims_of(chain) if call.opening or call.agent else ()
    call.own_via = own_via(chain, bool(call.agent))
    put_answer_chain(call)
    _put_prefill(world, call, chain)
    world.prefetch(needs(call, chain))
    if chain.atoms:
        world.add(chain_key("end", call.end), call.started, call.id)
        if call.after:
            world.add(chain_key("after", call.after), call.started, call.id)
    world.add(key("strict", call.project, call.session, call.strict), call.started, call.id)
    world.agenda[call.id] = None
    wake_followers(world, call)
    world.save("calls", call)


def needs(call: Call, chain: Chain) -> list[int]:
    """What the judgement of this call will ask for, in one read."""
    top = len(chain.atoms) - 1
    return [
        chain_key("watch", call.end),
        key("strict", call.project, call.session, call.strict),
        *(chain_key("end", chain.hashes[at]) for at in range(top, max(top - CHUNK, 0), -1)),
        *(key("offer", call.project, call.session, prompt) for prompt in call.claims),
    ]


def _put_prefill(world: World, call: Call, chain: Chain) -> None:
    length = len(chain.roles)
    while length and chain.roles[length - 1] == "assistant":
        length -= 1
    tail = chain.atoms[length:]
    if length and tail:
        call.base = chain.hashes[length]
        call.prefill = tuple(Answered(atom.digest or b"", atom.head, atom.kind == "use") for atom in tail)
        world.add(chain_key("end", call.base), call.started, call.id)


def claims_of(chain: Chain) -> tuple[bytes, ...]:
    """Each text before the first answer, and all joined: clients wrap a prompt in context of their own."""
    texts: list[str] = []
    for part in chain.parts:
        if part.role == "assistant":
            break
        if part.role == "user":
            texts += [text.normal for text in part.texts if text.normal]
    joined = ("\n".join(texts), "\n\n".join(texts)) if len(texts) > 1 else ()
    found = [results.prompt_key(words) for words in (*texts, *joined)]
    if any(words.startswith(WORKFLOW_STEP) for words in texts):
        found.append(results.WORKFLOW)
    return tuple(dict.fromkeys(found))


def own_via(chain: Chain, is_agent: bool) -> str:
    """A forked agent's request ends with the result of the very call that started it, and with its directive."""
    last = next((part for part in reversed(chain.parts) if part.atoms), None)
    if last is None or not last.results or not last.results[-1].fork:
        return ""
    directed = any(text.normal.startswith("<fork-boilerplate>") for text in last.texts)
    return last.results[-1].id if is_agent or directed else ""


def put_answer_chain(call: Call) -> None:
    call.after = extend(call.end, [atom.digest for atom in call.answer]) if call.answer and call.end else b""


def wake_followers(world: World, call: Call) -> None:
    """Requests that contain this one, and later ones with the same words; what earlier ones with them asked for."""
    later = [
        *world.calls_since(chain_key("watch", call.end), call.started),
        *(world.calls_since(chain_key("watch", call.base), call.started) if call.base else ()),
        *later_alike(world, call),
    ]
    for other in later:
        if other.id != call.id and before(call, other):
            world.agenda[other.id] = None
    for other in earlier_alike(world, call, NEWEST):
        if other.id != call.id:
            wake_offers(world, other)
