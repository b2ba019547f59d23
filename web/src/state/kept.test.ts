import { expect, test } from "vitest";
import type { Message, Reasoning, ToolCall } from "../api/types.gen";
import { task } from "./fixtures";
import type { Rows } from "./kept";
import { keptProtocol, readKept } from "./kept";
import { piecesOf } from "./pieces";
import type { Item } from "./transcript";

const at = (second: number) => `2026-05-01T10:00:${String(second).padStart(2, "0")}.000000Z`;
const own = task("t", null, { agent: "planner", refs: [{ protocol: "a2a", kind: "task", value: "1", scope: "planner" }] });
const NOTHING: Rows = { messages: [], tools: [], reasoning: [], events: [] };

function said(words: string, second: number, more: Partial<Message> = {}): Message {
  return {
    id: `${words}.${second}`, task: "t", call: null, role: "agent", author: "agent", author_id: "t", author_kind: null, reason: "", blocks: [{ type: "text", text: words }],
    timestamp: at(second), source: "a2a", observation: `obs_${second}`, ...more,
  };
}

const used = (id: string, second: number, more: Partial<ToolCall> = {}) =>
  ({ id, call_id: id, name: id, args: {}, result: "ok", status: "ok", timestamp: at(second), spawned: [], call: null, error: null, ...more }) as unknown as ToolCall;
const thought = (kind: Reasoning["kind"], text: string, second: number) => ({ kind, text, timestamp: at(second), withheld: false, message_id: "m", call: null }) as Reasoning;

function brief(items: Item[]): string[] {
  return items.map((item) => {
    if (item.kind === "spoken") return `${item.side}: ${item.pieces.map((piece) => (piece.kind === "text" ? piece.text.trim() : piece.kind)).join("|")}${item.again ? ` ×${item.again + 1}` : ""}`;
    if (item.kind === "tools") return `tools ${item.tools.map((tool) => tool.name).join()}`;
    if (item.kind === "spawn") return `child ${item.tool.child}`;
    if (item.kind === "artifact") return `artifact ${item.artifact.artifactId}`;
    return item.kind === "thinking" ? `thinks ${item.text}` : item.kind === "note" ? `${item.note.kind} ${item.note.text}` : item.kind;
  });
}

test("a protocol that keeps its rows is known by the task's refs, and not by those of its trace", () => {
  expect(keptProtocol(own)).toBe("a2a");
  expect(keptProtocol(task("t", null, { refs: [{ protocol: "claude", kind: "session", value: "x" }] }))).toBeNull();
  const logged = { native: { taskType: "get_products", agentTaskId: null } };
  expect(keptProtocol(task("t", null, logged))).toBe("adcp");
  expect(keptProtocol(task("t", null, { ...logged, refs: [{ protocol: "a2a", kind: "task", value: "1" }] }))).toBe("adcp");
});

test("what agents said is read by time, the prompt on its author's side, artifacts where they began", () => {
  const messages = [
    said("plan it", 1, { role: "user", author: "human", author_id: null }),
    said("started", 2),
    said("refine", 6, { role: "user", author: "unknown", author_id: null }),
    said("done", 9),
  ];
  const made = { ...own, artifacts: [{ artifactId: "report", name: "Report", parts: [{ text: "a" }], timestamp: at(4) }] };
  expect(brief(readKept(made, { ...NOTHING, messages }, []))).toEqual(["human: plan it", "agent: started", "artifact report", "unknown: refine", "agent: done"]);
  const given = [said("look", 1, { role: "user", author: "agent", author_id: "parent" })];
  expect(brief(readKept(own, { ...NOTHING, messages: given }, []))).toEqual(["prompt: look"]);
});

test("a child stands at the message that announced it, even if it began before", () => {
  const messages = [said("started", 2), said("dispatching", 5), said("done", 9)];
  const announced = task("a", "t", { opened: at(3), link: { kind: "spawned", rule: "referenceTaskIds", certainty: 1, parent: "t", via: null, via_id: null, evidence: ["obs_5"] } });
  const began = task("b", "t", { opened: at(7), link: { kind: "spawned", rule: "traceparent", certainty: 0.9, parent: "t", via: null, via_id: null, evidence: ["obs_77"] } });
  expect(brief(readKept(own, { ...NOTHING, messages }, [announced, began]))).toEqual(["agent: started", "agent: dispatching", "child a", "child b", "agent: done"]);
});

test("a child that a tool call started stands at that call, and other calls in a row are one block", () => {
  const tools = [used("search", 2), used("fetch", 3), used("peer", 4, { spawned: ["a"] })];
  const child = task("a", "t", { opened: at(4), link: { kind: "spawned", rule: "parentTaskId", certainty: 1, parent: "t", via: "peer", via_id: "peer", evidence: [] } });
  expect(brief(readKept(own, { ...NOTHING, tools }, [child]))).toEqual(["tools search,fetch", "child a"]);
});

test("an explanation that is said as well is read once, before its tools; wordless thoughts are left to the calls", () => {
  const reasoning = [thought("context", "", 1), thought("thinking", "hm", 2), thought("explanation", "Delegating now.", 3), thought("progress", "half", 5)];
  const rows = { ...NOTHING, reasoning, tools: [used("peer", 3)], messages: [said("Delegating now.", 4)] };
  expect(brief(readKept(own, rows, []))).toEqual(["thinks hm", "agent: Delegating now.", "tools peer", "progress half"]);
});

test("the same words twice, as a stream's last and its end's, are shown once and counted", () => {
  expect(brief(readKept(own, { ...NOTHING, messages: [said("\n\nDone.", 1), said("Done.", 2)] }, []))).toEqual(["agent: Done. ×2"]);
});

test("parts are text, data, pictures and files; addresses are told and nothing foreign is a picture", () => {
  const png = "iVBORw0KGgo=";
  const kinds = (parts: unknown[]) => piecesOf(parts).map((piece) => piece.kind);
  expect(piecesOf([{ text: "a" }, { text: "b" }])).toEqual([{ kind: "text", text: "ab" }]);
  expect(piecesOf([{ text: "a" }, { text: "b" }], "\n")).toEqual([{ kind: "text", text: "a\nb" }]);
  expect(kinds([{ data: { x: 1 } }, { raw: png, mediaType: "image/png" }, { raw: png, mediaType: "image/svg+xml" }])).toEqual(["data", "picture", "file"]);
  expect(kinds([{ url: "https://example.org/a.png", mediaType: "image/png" }, { type: "file", file: { name: "a.txt", bytes: "aGk=" } }])).toEqual(["file", "file"]);
  expect(piecesOf([{ type: "file", file: { name: "a.txt", bytes: "aGk=" } }])).toMatchObject([{ file: { name: "a.txt", bytes: 2 } }]);
  expect(kinds([{ raw: 'x" onerror="1', mediaType: "image/png" }, "odd", null, { strange: 1 }])).toEqual(["file", "data", "data", "data"]);
});
