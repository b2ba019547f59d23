/** Events of the event log as people read them: an answer beside its request, everything else by itself. */
import type { LoggedEvent } from "../api/types.gen";

export type Step = { kind: "exchange"; request: LoggedEvent; answer: LoggedEvent | null } | { kind: "told"; event: LoggedEvent };

const ANSWERS = ["protocol_response", "protocol_error"];
const callOf = (event: LoggedEvent): unknown => (event as { callId?: unknown }).callId ?? null;

/** In the order in which they were seen; an answer belongs to the call that it names, else to the oldest open one of its task. */
export function stepsOf(events: LoggedEvent[]): Step[] {
  const steps: Step[] = [];
  const open: Exchanged[] = [];
  for (const event of events) {
    if (event.eventType === "protocol_request") {
      const step: Exchanged = { kind: "exchange", request: event, answer: null };
      open.push(step);
      steps.push(step);
      continue;
    }
    const asked = ANSWERS.includes(event.eventType ?? "") ? (open.find(fits(event)) ?? open.find(emptyBefore(event))) : undefined;
    if (asked) asked.answer = event;
    else steps.push({ kind: "told", event });
  }
  return steps;
}

type Exchanged = Step & { kind: "exchange" };

function fits(answer: LoggedEvent): (step: Exchanged) => boolean {
  const call = callOf(answer);
  return ({ request, answer: known }) => !known && request.agentId === answer.agentId && (call !== null ? callOf(request) === call : alike(request, answer));
}

/** Clients tell an answer twice: at once without its content, and then with it. */
function emptyBefore(answer: LoggedEvent): (step: Exchanged) => boolean {
  return ({ request, answer: known }) => known !== null && bodyOf(known) === null && known.status === answer.status && request.agentId === answer.agentId && alike(request, answer);
}

const alike = (request: LoggedEvent, answer: LoggedEvent): boolean => request.task === answer.task && request.taskType === answer.taskType;

export const momentOf = (step: Step): string => (step.kind === "exchange" ? step.request : step.event).observedAt ?? "";

const FIELDS = ["payload", "result", "error"] as const;

/** What it carried: the one field that it has, or all of them under their names; null where it had none. */
export function bodyOf(event: LoggedEvent): unknown {
  const found = FIELDS.filter((field) => event[field] !== null && event[field] !== undefined);
  if (found.length <= 1) return found[0] ? event[found[0]] : null;
  return Object.fromEntries(found.map((field) => [field, event[field]]));
}

const WORDS: Record<string, string> = {
  protocol_request: "asked", protocol_response: "answered", protocol_error: "failed", status_update: "status", progress: "progress",
  webhook_received: "webhook received", reconciliation: "asked again",
};

export const typeWords = (event: LoggedEvent): string => WORDS[event.eventType ?? ""] ?? event.eventType ?? event.objectType ?? "event";
