/** What is not known of a run, in a sentence. */
import type { Completeness, Missing } from "../api/types.gen";
import { count } from "./format";

const WORDS: Record<Missing["kind"], (n: number) => string> = {
  unattached: (n) => `${count(n, "task")} that nothing leads to`,
  unresolved: (n) => `${count(n, "task")} named, but never shown`,
  inferred: (n) => `${count(n, "link")} by inference`,
  no_result: (n) => `${count(n, "tool result")} that never came`,
  cut_short: (n) => `${count(n, "answer")} cut short`,
  failed_calls: (n) => `${count(n, "call")} that failed`,
  withheld: (n) => `reasoning withheld in ${count(n, "call")}`,
};

/** What lowers the meter; reasoning that was withheld and calls that failed are known facts, not gaps. */
const GAPS: Missing["kind"][] = ["unattached", "unresolved", "inferred", "no_result", "cut_short"];

export const told = (missing: Missing): string => WORDS[missing.kind](missing.count);

export function sentence(found: Completeness): string {
  const parts = found.missing.map(told);
  if (found.unreadable) parts.push(`${count(found.unreadable, "observation")} that nobody could read`);
  return parts.length ? parts.join(", ") : "Everything that was seen is known";
}

export function share(found: Completeness): number {
  const whole = found.tasks + found.calls + found.tools;
  const gaps = found.missing.filter((one) => GAPS.includes(one.kind)).reduce((sum, one) => sum + one.count, 0);
  return whole ? Math.max(0, 1 - gaps / whole) : 1;
}
