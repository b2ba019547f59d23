import { describe, expect, test } from "vitest";
import type { Task } from "../api/types.gen";
import { skeleton, task } from "./fixtures";
import { tally, visibleRows } from "./rows";
import type { Tree } from "./tree";
import { applyChange, buildTree, delegatedCost, lasted, pathTo, sumUp, treeCost, walk } from "./tree";

const ids = (tree: Tree) => [...tree.roots, ...tree.unattached].flatMap((root) => [...walk(root)].map((node) => node.id));
const shape = (tree: Tree) => visibleRows(tree, { below: null, toggled: new Set(), focus: null, words: "" }).map((row) => `${row.depth}${row.id}`);

test("a run that began inside another's shell is a root of its own conversation and stands under the other's task", () => {
  const link = { kind: "spawned", rule: "same-trace", certainty: 0.5, parent: "a", via: null, via_id: null, evidence: [] };
  const child = task("b", "a", { link, conversation: "conv-b" });
  const own = buildTree(skeleton([]), "conv-b");
  applyChange(own, { task: child });
  expect([own.roots.map((node) => node.id), own.unattached]).toEqual([["b"], []]);
  const above = buildTree(skeleton([["a", 0]]), "conv");
  applyChange(above, { task: child });
  expect(above.roots[0]?.children.map((node) => node.id)).toEqual(["b"]);
});

test("what was named and never shown took no time that anybody knows; what waits took the time until it began to", () => {
  const tree = buildTree(skeleton([["a", 0, { status: "w" }]]), null);
  const node = tree.nodes.get("a")!;
  expect(lasted(node, node.start + 3000)).toBe(3000);
  Object.assign(node, { status: "unknown", end: null, active: node.start });
  expect(lasted(node, node.start + 3000)).toBe(null);
  Object.assign(node, { status: "input-required", active: node.start + 2000 });
  expect(lasted(node, node.start + 9000)).toBe(2000);
});

describe("a tree", () => {
  test("is built from columns in pre-order", () => {
    const tree = buildTree(skeleton([["a", 0], ["b", 1], ["c", 2], ["d", 1]]), null);
    expect(shape(tree)).toEqual(["0a", "1b", "2c", "1d"]);
    expect(tree.nodes.get("c")?.parent).toBe("b");
    expect(pathTo(tree, "c").map((node) => node.id)).toEqual(["a", "b", "c"]);
  });

  test("counts each task once, and no sum is known where one part is not", () => {
    const tree = buildTree(skeleton([["a", 0], ["b", 1, { status: "f" }], ["c", 2, { cost: null }], ["d", 1, { status: "w" }]]), null);
    expect(tree.roots[0]?.sums).toMatchObject({ tasks: 4, done: 3, working: 1, failed: 1, calls: 4, tools: 8, tokens: 460, cost: null });
    expect(tree.nodes.get("d")?.sums.cost).toBe(1);
  });

  test("takes in a new task under its parent, and what changes about it in place", () => {
    const tree = buildTree(skeleton([["a", 0], ["b", 1]]), null);
    expect(applyChange(tree, { task: task("n", "a") })).toBe(true);
    expect(shape(tree)).toEqual(["0a", "1b", "1n"]);
    applyChange(tree, { task: task("n", "a", { status: "completed", closed: "2026-05-01T10:02:00.000000Z" }) });
    sumUp(tree);
    expect(tree.nodes.get("n")?.status).toBe("completed");
    expect(tree.roots[0]?.sums).toMatchObject({ tasks: 3, done: 3 });
  });

  test("has the sums that all of it would give, whatever came, went and moved", () => {
    let seed = 7;
    const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
    const tree = buildTree(skeleton([["t0", 0], ["t1", 1], ["t2", 2], ["t3", 1]]), "conv");
    for (let round = 0; round < 400; round += 1) {
      const at = random(40);
      if (random(8) === 0 && at > 0) applyChange(tree, { gone: { kind: "task", id: `t${at}` } });
      else applyChange(tree, { task: task(`t${at}`, at ? `t${random(at)}` : null, { status: random(2) ? "completed" : "working", tool_calls: random(9) }) });
      if (random(3)) continue;
      sumUp(tree);
      for (const node of tree.nodes.values()) {
        const below = [...walk(node)];
        expect(node.sums).toMatchObject({
          tasks: below.length, working: below.filter((one) => one.status === "working").length, tools: below.reduce((sum, one) => sum + one.tools, 0),
        });
      }
    }
  });

  test("keeps a child that comes before its parent until that comes", () => {
    const tree = buildTree(skeleton([["a", 0]]), null);
    expect(applyChange(tree, { task: task("z", "y") })).toBe(false);
    applyChange(tree, { task: task("y", "a") });
    expect(shape(tree)).toEqual(["0a", "1y", "2z"]);
  });

  test("is the same whatever the order in which its tasks come, also when they come twice", () => {
    const parts = [task("b", "a"), task("c", "b"), task("d", "c"), task("e", "a")];
    const orders = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1, 0, 2], [1, 3, 0, 2]];
    const told = orders.map((order) => {
      const tree = buildTree(skeleton([["a", 0]]), null);
      for (const at of order) applyChange(tree, { task: parts[at] as Task });
      return ids(tree).sort();
    });
    expect(new Set(told.map(String)).size).toBe(1);
  });

  test("moves a task with everything under it when its parent is found late", () => {
    const tree = buildTree(skeleton([["a", 0], ["b", 1], ["c", 2], ["d", 1]]), null);
    applyChange(tree, { task: task("b", "d") });
    expect(shape(tree)).toEqual(["0a", "1d", "2b", "3c"]);
  });

  test("of one task leaves out what was moved elsewhere, and other tasks", () => {
    const tree = buildTree(skeleton([["a", 0], ["b", 1], ["c", 2]]), null);
    applyChange(tree, { task: task("b", "elsewhere") });
    applyChange(tree, { task: task("q", null) });
    expect(ids(tree)).toEqual(["a"]);
    expect(tree.nodes.size).toBe(1);
  });

  test("of a conversation takes in new prompts, and shows what nothing leads to", () => {
    const tree = buildTree(skeleton([["a", 0]], [["l", 0]]), "conv");
    applyChange(tree, { task: task("r", null, { prompt_author: "human" }) });
    applyChange(tree, { task: task("o", null, { flags: ["orphan"] }) });
    applyChange(tree, { task: task("x", null, { conversation: "other" }) });
    expect(tree.roots.map((node) => node.id)).toEqual(["a", "r"]);
    expect(tree.unattached.map((node) => node.id)).toEqual(["l", "o"]);
  });

  test("forgets what is gone", () => {
    const tree = buildTree(skeleton([["a", 0], ["b", 1], ["c", 2]]), null);
    applyChange(tree, { gone: { kind: "task", id: "b" } });
    expect(ids(tree)).toEqual(["a"]);
  });

  test("of ten thousand in one chain is walked without running out of stack", () => {
    const rows = Array.from({ length: 10_000 }, (_, at) => [`t${at}`, at] as [string, number]);
    expect(buildTree(skeleton(rows), null).roots[0]?.sums.tasks).toBe(10_000);
  });
});

describe("rows", () => {
  const many = buildTree(skeleton([["a", 0], ...Array.from({ length: 15 }, (_, at) => [`k${at}`, 1, { status: at === 9 ? "f" : "c" }] as [string, number, object])]), null);
  const folding = { below: null, toggled: new Set<string>(), focus: null, words: "" };

  test("fold many siblings of one kind into one, and open it with failures first", () => {
    const [, fold] = visibleRows(many, folding);
    expect(fold).toMatchObject({ kind: "fold", id: "a~Explore" });
    expect(fold?.kind === "fold" && tally(fold.nodes)).toEqual({ done: 15, failed: 1 });
    const open = visibleRows(many, { ...folding, toggled: new Set(["a~Explore"]) });
    expect(open.length).toBe(17);
    expect(open[2]?.id).toBe("k9");
  });

  test("keep the ancestors of what a filter finds", () => {
    const tree = buildTree(skeleton([["a", 0], ["b", 1], ["hat", 2], ["d", 1]]), null);
    const rows = visibleRows(tree, { ...folding, words: "TASK hat" });
    expect(rows.map((row) => [row.id, row.kind === "task" && row.hit])).toEqual([["a", false], ["b", false], ["hat", true]]);
  });

  test("are folded below a depth, except those that were toggled", () => {
    const tree = buildTree(skeleton([["a", 0], ["b", 1], ["c", 2], ["d", 1], ["e", 2]]), null);
    expect(visibleRows(tree, { ...folding, below: 1 }).map((row) => row.id)).toEqual(["a", "b", "d"]);
    expect(visibleRows(tree, { ...folding, below: 1, toggled: new Set(["d"]) }).map((row) => row.id)).toEqual(["a", "b", "d", "e"]);
    expect(visibleRows(tree, { ...folding, toggled: new Set(["b"]) }).map((row) => row.id)).toEqual(["a", "b", "d", "e"]);
  });

  test("begin with the task that is focused", () => {
    const tree = buildTree(skeleton([["a", 0], ["b", 1], ["c", 2], ["d", 1]]), null);
    expect(visibleRows(tree, { ...folding, focus: "b" }).map((row) => `${row.depth}${row.id}`)).toEqual(["0b", "1c"]);
  });
});

test("what agents cost whose models nobody saw is not known, and not nothing", () => {
  const tree = buildTree(skeleton([["a", 0], ["b", 1, { cost: null }], ["c", 0]]), null);
  for (const id of ["b"]) tree.nodes.get(id)!.calls = 0;
  for (const node of tree.nodes.values()) tree.stale.add(node);
  sumUp(tree);
  const of = (id: string) => tree.nodes.get(id)!;
  expect([treeCost(of("a")), delegatedCost(of("a"))]).toEqual([1, null]);
  expect([treeCost(of("b")), delegatedCost(of("b"))]).toEqual([null, 0]);
  expect([treeCost(of("c")), delegatedCost(of("c"))]).toEqual([1, 0]);
});
