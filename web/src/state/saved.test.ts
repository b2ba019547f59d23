import { describe, expect, test } from "vitest";
import type { Skeleton } from "../api/types.gen";
import type { Snapshot } from "./saved";
import { SavedRun, subtree } from "./saved";

const column = (...values: unknown[]) => values;
const rows = {
  id: column("a", "b", "c", "d"), depth: column(0, 1, 2, 1), size: column(4, 2, 1, 1), title: column("A", "B", "C", "D"), open: column(2, 3), active: column(20, 30),
};
const none = { id: [], depth: [], size: [], title: [], open: [], active: [] };
const skeleton = { seq: 0, n: 4, base: null, longest: 48, agents: [], rows, unattached: none } as unknown as Skeleton;
const task = (id: string) => ({ id, title: id });
const snapshot = {
  version: 1, entity: "conversation", id: "conv", title: "", left_out: [], skeleton, conversation: { id: "conv" }, completeness: { missing: [] },
  tasks: { a: task("a"), b: task("b"), c: task("c"), d: task("d") }, messages: { b: [{ id: "m1", call: "k1" }, { id: "m2", call: "k2" }] },
  tools: { b: [{ id: "tool_1", call_id: "toolu_1" }], c: [{ id: "tool_2", call_id: "toolu_2" }] }, reasoning: {}, artifacts: {}, events: {},
  calls: { b: [{ id: "k1", task: "b", opened: "1" }, { id: "k2", task: "b", opened: "2" }] }, why: {}, bodies: { "k1/request": "{}" },
} as unknown as Snapshot;
const saved = new SavedRun(snapshot);
const items = (url: string) => (saved.answer(url).body as { items: { id: string }[] }).items.map(({ id }) => id);

describe("a saved run", () => {
  test("answers for a part of the tree with a tree of its own", () => {
    const part = subtree(skeleton, "b");
    expect(part?.rows.id).toEqual(["b", "c"]);
    expect(part?.rows.depth).toEqual([0, 1]);
    expect([part?.rows.open, part?.rows.active]).toEqual([[1], [20]]);
    expect(items("/api/tasks/a/subtasks?limit=5000")).toEqual(["b", "d"]);
  });

  test("gives what belongs to a task, to what is under it, and to all", () => {
    expect(items("/api/tasks/b/tools?tree=false")).toEqual(["tool_1"]);
    expect(items("/api/tasks/b/tools?tree=true")).toEqual(["tool_1", "tool_2"]);
    expect(items("/api/tasks/conv/tools?tree=true")).toEqual(["tool_1", "tool_2"]);
    expect(items("/api/tasks?ids=a,nobody,c")).toEqual(["a", "c"]);
  });

  test("finds calls newest first, what each said, and its bytes where they are kept", () => {
    expect(items("/api/calls?task=b")).toEqual(["k2", "k1"]);
    expect(items("/api/tasks/k2/messages")).toEqual(["m2"]);
    expect(saved.answer("/api/calls/k1/request")).toEqual({ status: 200, body: "{}" });
    expect(saved.answer("/api/calls/k2/request").status).toBe(404);
    expect((saved.answer("/api/tools/toolu_2").body as { id: string }).id).toBe("tool_2");
  });

  test("says of everything else that it is not in the file", () => {
    for (const url of ["/api/tasks/nobody", "/api/tasks/a/flow", "/api/search?q=x", "/api/links", "/api/conversations/other"]) {
      const { status, body } = saved.answer(url);
      expect([status, (body as { error: { code: string } }).error.code]).toEqual([404, "not_saved"]);
    }
  });
});
