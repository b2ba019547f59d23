"""W3C trace context: what lets an agent's own events and spans find the call that caused them."""

import sys


def traceparent(operation: str, call: str) -> str:
    """The trace of the program, where OpenTelemetry runs one; else one for each operation. The span is the call."""
    from hashlib import sha256  # loads OpenSSL, and only calls that are instrumented come here

    span = sha256(call.encode("utf-8", "replace")).hexdigest()[:16]
    return f"00-{running_trace() or sha256(operation.encode('utf-8', 'replace')).hexdigest()[:32]}-{span}-01"


def running_trace() -> str | None:
    tracing = sys.modules.get("opentelemetry.trace")  # never imported for this
    try:
        context = tracing.get_current_span().get_span_context() if tracing is not None else None
        return f"{context.trace_id:032x}" if context is not None and context.is_valid else None
    except Exception:  # another version of it
        return None
