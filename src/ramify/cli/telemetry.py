"""Switches of the Claude client's own telemetry, for a run that is captured."""

from collections.abc import Mapping

SWITCHES = {
    "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
    "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA": "1",
    "CLAUDE_CODE_PROPAGATE_TRACEPARENT": "1",
    "OTEL_TRACES_EXPORTER": "otlp",
    "OTEL_LOGS_EXPORTER": "otlp",
    "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    "OTEL_LOGS_EXPORT_INTERVAL": "1000",
    "OTEL_TRACES_EXPORT_INTERVAL": "1000",
    "OTEL_LOG_USER_PROMPTS": "1",
    "OTEL_LOG_TOOL_DETAILS": "1",
}
CHOICES = frozenset((
    "CLAUDE_CODE_ENABLE_TELEMETRY", "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "DISABLE_TELEMETRY",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
))  # fmt: skip


def telemetry(environment: Mapping[str, str], address: str) -> dict[str, str]:
    """Pointed here. Whoever has set up or switched off any of it is left alone."""
    if any(name.startswith("OTEL_") or name in CHOICES for name in environment):
        return {}
    return {**SWITCHES, "OTEL_EXPORTER_OTLP_ENDPOINT": address}
