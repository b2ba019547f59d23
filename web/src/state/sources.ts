/** Where something was seen: on the wire, or only in what somebody reported. */
import type { Call, Message } from "../api/types.gen";

const WORDS: Record<string, string> = { wire: "the wire", transcript: "a transcript", stream: "the client's stream", hook: "a hook", a2a: "A2A", sam: "the mesh", adcp: "the event log" };

export const sourceWords = (source: string): string => WORDS[source] ?? source;

/** Nobody saw its request and response: a transcript, a stream or a hook told of it. */
export function onlyReported(call: Call): boolean {
  return call.observations.length > 0 && !call.refs.some((ref) => ref.protocol === "capture" && ref.kind === "exchange");
}

/** A report may come without times of its own: then nobody knows how long the call took. */
export function took(call: Call): number | null {
  return onlyReported(call) ? call.duration_ms || null : call.duration_ms;
}

/** The role, and where it was written so. */
export function roleWords(message: Message): string {
  return message.source ? `${message.role} in ${sourceWords(message.source)}` : `${message.role} on the wire`;
}

export const NO_PROMPT = "prompt not seen";
export const WAITING = "waiting for a child"; // at work, by way of another
