/** Two runs side by side: what both did folds, and the first thing that only one of them did is named. */
import type { ToolCall } from "../api/types.gen";
import { peek } from "./text";

export interface Action {
  key: string;
  name: string;
  text: string;
  tool: ToolCall;
}

export type Step =
  | { kind: "same"; a: Action; b: Action }
  | { kind: "left"; a: Action }
  | { kind: "right"; b: Action };

const NUMBERS = /\b[0-9a-f]{8}-[0-9a-f-]{27,}\b|\b\d{4,}\b|\/tmp\/\S+/gi;

/** The same act of two runs: ids, long numbers and throw-away paths differ by nature and do not count. */
export function actionOf(tool: ToolCall): Action {
  const args = JSON.stringify(tool.args ?? null).replace(NUMBERS, "#");
  return { key: `${tool.name} ${args}`, name: tool.name ?? "tool", text: peek(tool.args), tool };
}

/** The longest row of actions that both have, in order. What begins and ends alike is set aside first. */
export function align(a: Action[], b: Action[]): Step[] {
  let start = 0;
  while (start < a.length && start < b.length && a[start]?.key === b[start]?.key) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end]?.key === b[b.length - 1 - end]?.key) end += 1;
  const both = (x: Action, y: Action): Step => ({ kind: "same", a: x, b: y });
  const head = a.slice(0, start).map((action, at) => both(action, b[at] as Action));
  const tail = a.slice(a.length - end).map((action, at) => both(action, b[b.length - end + at] as Action));
  return [...head, ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)), ...tail];
}

function middle(a: Action[], b: Action[]): Step[] {
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const skip = Math.max(longest[(i + 1) * width + j] ?? 0, longest[i * width + j + 1] ?? 0);
      longest[i * width + j] = a[i]?.key === b[j]?.key ? (longest[(i + 1) * width + j + 1] ?? 0) + 1 : skip;
    }
  }
  const steps: Step[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const x = a[i];
    const y = b[j];
    if (x && y && x.key === y.key) {
      steps.push({ kind: "same", a: x, b: y });
      i += 1;
      j += 1;
    } else if (x && (!y || (longest[(i + 1) * width + j] ?? 0) >= (longest[i * width + j + 1] ?? 0))) {
      steps.push({ kind: "left", a: x });
      i += 1;
    } else if (y) {
      steps.push({ kind: "right", b: y });
      j += 1;
    }
  }
  return steps;
}

export const firstDifference = (steps: Step[]): number => steps.findIndex((step) => step.kind !== "same");

export type Line = { kind: "folded"; count: number } | { kind: "step"; step: Step; at: number };

/** Long stretches of the same are one line, with a little of it left around each difference. */
export function folded(steps: Step[], around = 2): Line[] {
  const near = (at: number) => steps.slice(Math.max(0, at - around), at + around + 1).some((step) => step.kind !== "same");
  const lines: Line[] = [];
  steps.forEach((step, at) => {
    const last = lines.at(-1);
    if (near(at)) lines.push({ kind: "step", step, at });
    else if (last?.kind === "folded") last.count += 1;
    else lines.push({ kind: "folded", count: 1 });
  });
  return lines;
}
