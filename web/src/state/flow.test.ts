import { expect, test } from "vitest";
import type { FlowEvent } from "../api/types.gen";
import { PERSON, fitting, flowPicture, kindsOf } from "./flow";

const event = (kind: FlowEvent["kind"], task: string, id: string | null, agent_name: string | null, more: Partial<FlowEvent> = {}): FlowEvent => ({
  timestamp: null, kind, task, id, agent_name, text: null, status: null, closed: null, ...more,
});
const EVENTS = [
  event("request", "root", "root", "planner", { author: "human", text: "Plan" }),
  event("tool_call", "root", "tool_1", "planner", { text: "search" }),
  event("subtask", "root", "child", "lender", { text: "Lend" }),
  event("request", "child", "child", "lender", { author: "agent", text: "Lend it, please" }),
  event("model_call", "child", "call_1", "lender", { text: "some-model" }),
  event("end", "child", "child", "lender", { status: "completed" }),
  event("end", "root", "root", "planner", { status: "completed" }),
];

test("every agent has a lane, and work is an arrow from who gave it to who got it, and back", () => {
  const { lanes, rows } = flowPicture(EVENTS);
  expect(lanes).toEqual([PERSON, "planner", "lender"]);
  expect(rows.map((row) => `${row.event.kind} ${row.from ?? ""}>${row.lane} ${row.selects}`)).toEqual([
    "request 0>1 task:root", "tool_call >1 tool:tool_1", "subtask 1>2 task:child", "model_call >2 call:call_1", "end 2>1 task:child", "end 1>0 task:root",
  ]);
  expect(rows[2]?.event.text).toBe("Lend it, please");
});

test("an agent that asks itself, and one whose asker is not known, have lanes as well", () => {
  const { lanes, rows } = flowPicture([event("request", "root", "root", "a", { author: "unknown" }), event("subtask", "root", "child", "a"), event("end", "root", "root", "a")]);
  expect(lanes).toEqual(["a"]);
  expect(rows.map((row) => [row.from, row.lane])).toEqual([[null, 0], [0, 0], [null, 0]]);
});

test("kinds are counted and chosen, words are looked for", () => {
  const { rows } = flowPicture(EVENTS);
  expect(kindsOf(rows)[0]).toEqual(["end", 2]);
  expect(fitting(rows, "end", "").length).toBe(2);
  expect(fitting(rows, "", "some-mod").map((row) => row.event.kind)).toEqual(["model_call"]);
});
