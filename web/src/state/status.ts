/** Statuses: their letters in a skeleton, their words, and what they have in common. */

export const LETTERS: Record<string, string> = {
  p: "pending", s: "submitted", w: "working", i: "input-required", a: "auth-required",
  c: "completed", f: "failed", x: "canceled", r: "rejected", u: "unknown",
};

export type Look = "working" | "done" | "failed" | "waiting" | "canceled" | "unknown";

const LOOKS: Record<string, Look> = {
  pending: "waiting", submitted: "waiting", working: "working", "input-required": "waiting", "auth-required": "waiting",
  completed: "done", failed: "failed", canceled: "canceled", rejected: "failed", unknown: "unknown",
  ok: "done", running: "working", error: "failed", aborted: "canceled", missing: "unknown", timed_out: "failed",
};

export const look = (status: string): Look => LOOKS[status] ?? "unknown";
export function isDone(status: string): boolean {
  const kind = look(status);
  return kind === "done" || kind === "failed" || kind === "canceled";
}
export const isFailed = (status: string): boolean => look(status) === "failed";

/** How sure a link is, as a line: stated, a person's, or inferred. */
export type Certainty = "stated" | "manual" | "inferred" | "none";

export function certaintyOf(certainty: number | null, rule?: string | null): Certainty {
  if (certainty === null) return "none";
  if (rule === "manual") return "manual";
  return certainty < 1 ? "inferred" : "stated";
}
