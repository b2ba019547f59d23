import { expect, test } from "vitest";
import type { LoggedEvent, Operation, OperationDetail } from "../api/types.gen";
import { task } from "./fixtures";
import { agentLines, endedOf, fits, headline, objectWords, openTasks, ordered } from "./operations";

function operation(id: string, status: string, updatedAt: string, shares: Record<string, string> = {}): Operation {
  const byAgent = Object.fromEntries(
    Object.entries(shares).map(([agent, state], at) => [agent, { status: state, taskCount: 1, statusCounts: { [state]: 1 }, firstAt: `1${9 - at}`, lastAt: null, durationMs: 1, responseMs: null, skewMs: null }]),
  );
  const statusCounts: Record<string, number> = {};
  for (const state of Object.values(shares)) statusCounts[state] = (statusCounts[state] ?? 0) + 1;
  return { operationId: id, id, status, updatedAt, byAgent, agents: Object.keys(shares), statusCounts, eventCount: 9 } as unknown as Operation;
}

const event = (seq: number, more: Partial<LoggedEvent>) => ({ eventId: `e${seq}`, seq, eventType: "status_update", flags: [], source: "client", ...more }) as LoggedEvent;

test("open operations come first, then what moved last", () => {
  const all = [operation("old", "completed", "1"), operation("new", "failed", "3"), operation("open", "working", "2")];
  expect(ordered(all).map((one) => one.id)).toEqual(["open", "new", "old"]);
});

test("an operation is told in one line, and its open tasks are counted", () => {
  const one = operation("x", "working", "1", { a: "completed", b: "completed", c: "working" });
  expect(headline(one)).toBe("3 agents: 2 completed, 1 working, 9 events");
  expect(openTasks(one)).toBe(1);
  expect(endedOf({ statusCounts: { completed: 2, failed: 1, working: 4 } })).toBe(3);
});

test("each agent has its own line with its marks; what names no agent stands last", () => {
  const detail = {
    operation: operation("x", "working", "1", { a: "completed", b: "working" }),
    events: [event(1, { agentId: "b", flags: ["late"] }), event(2, { agentId: "a" }), event(3, { agentId: null })],
    tasks: [task("t", null, { agent: "a", flags: ["stalled"] })],
  } as unknown as OperationDetail;
  expect(agentLines(detail).map((line) => [line.agent, line.events, line.flags.join()])).toEqual([["b", 1, "late"], ["a", 1, "stalled"], ["", 1, ""]]);
});

test("the address says which events are wanted, also those that name no operation", () => {
  const none = { operation: "", agent: "", kind: "", status: "", source: "", since: "" };
  const one = event(1, { operationId: "op", agentId: "a", status: "working" });
  expect(fits(one, none)).toBe(true);
  expect(fits(one, { ...none, operation: "op", agent: "a", kind: "status_update", status: "working", source: "client" })).toBe(true);
  expect(fits(one, { ...none, source: "webhook" })).toBe(false);
  expect(fits(one, { ...none, operation: "-" })).toBe(false);
  expect(fits(event(2, { operationId: null }), { ...none, operation: "-" })).toBe(true);
});

test("events are wanted from a moment on, by the store's clock and to its fraction of a second", () => {
  const none = { operation: "", agent: "", kind: "", status: "", source: "" };
  const one = event(1, { recordedAt: "2026-01-01T00:00:00.123456Z" });
  expect(fits(one, { ...none, since: "2026-01-01T00:00:00.123Z" })).toBe(true);
  expect(fits(one, { ...none, since: "2026-01-01T01:00:00+01:00" })).toBe(true);
  expect(fits(one, { ...none, since: "2026-01-01T00:00:01Z" })).toBe(false);
});

test("objects are counted by kind", () => {
  expect(objectWords({ objectTypes: { creative: 3, product: 1 } } as unknown as Operation)).toBe("3 creatives, 1 product");
});
