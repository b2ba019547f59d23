import { expect, test } from "vitest";
import type { LoggedEvent } from "../api/types.gen";
import { bodyOf, stepsOf } from "./logged";

function event(seq: number, eventType: string, more: Record<string, unknown> = {}): LoggedEvent {
  return { eventId: `e${seq}`, seq, eventType, agentId: "a", taskType: "sync", task: "t", source: "client", recordedAt: null, observedAt: null, flags: [], observation: "", ...more } as LoggedEvent;
}

const brief = (events: LoggedEvent[]) => stepsOf(events).map((step) => (step.kind === "exchange" ? `${step.request.seq}-${step.answer?.seq ?? ""}` : step.event.seq));

test("an answer stands beside the call that it names, else beside the oldest open one of its task", () => {
  const two = [event(1, "protocol_request", { callId: "x" }), event(2, "protocol_request", { callId: "y" })];
  expect(brief([...two, event(3, "protocol_response", { callId: "y" }), event(4, "protocol_error", { callId: "x" })])).toEqual(["1-4", "2-3"]);
  expect(brief([event(1, "protocol_request"), event(2, "protocol_request"), event(3, "protocol_response")])).toEqual(["1-3", "2-"]);
});

test("an answer of another agent, and one that nobody asked for, stand by themselves", () => {
  expect(brief([event(1, "protocol_request"), event(2, "protocol_response", { agentId: "b" }), event(3, "status_update")])).toEqual(["1-", 2, 3]);
});

test("an answer that is told twice, the second time with its content, is one", () => {
  const events = [event(1, "protocol_request", { callId: "x" }), event(2, "protocol_response", { callId: "x", status: "completed" }), event(3, "protocol_response", { status: "completed", payload: { a: 1 } })];
  expect(brief(events)).toEqual(["1-3"]);
});

test("what it carried is its one field, or all of them by name", () => {
  expect(bodyOf(event(1, "x", { payload: { a: 1 } }))).toEqual({ a: 1 });
  expect(bodyOf(event(1, "x", { payload: 1, error: "e" }))).toEqual({ payload: 1, error: "e" });
  expect(bodyOf(event(1, "x"))).toBeNull();
});
