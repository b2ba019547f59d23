import { expect, test } from "vitest";
import type { Move, Preview } from "../api/types.gen";
import { skeleton } from "./fixtures";
import { candidates, carryOut, takeBack, told } from "./moving";
import { buildTree } from "./tree";

const USAGE = { calls: 2, input: 1, output: 1, cache_read: 0, cache_write: 0, cost_usd: 0.12 };
const move = (child: string, more: Partial<Move> = {}): Move => ({ child, title: `task ${child}`, from: { id: "p", title: "parent" }, tasks: 2, usage: USAGE, refused: null, before: null, ...more });
const preview = (moves: Move[], more: Partial<Preview> = {}): Preview => ({ parent: { id: "t", title: "target" }, moves, tasks: 4, usage: USAGE, ...more });

function acting() {
  const said: string[] = [];
  const note = (words: string) => {
    said.push(words);
    return Promise.resolve();
  };
  return { said, link: (child: string, parent: string) => note(`link ${child} ${parent}`), unlink: (child: string) => note(`unlink ${child}`), withdraw: (child: string) => note(`withdraw ${child}`) };
}

test("what moves is told with what goes along, what it cost, from where and where to", () => {
  expect(told(preview([move("a"), move("b")]))).toBe("2 tasks with what is under them, 4 tasks in all, $0.12, from “parent” to “target”");
  expect(told(preview([move("a", { tasks: 1 })], { tasks: 1, parent: null }))).toBe("“task a”, $0.12, from “parent” to nobody: it would stand alone");
});

test("all that can be moved is moved, and taken back to what was said before, the last one first", async () => {
  const acts = acting();
  const moves = [move("a"), move("b", { before: { act: "link", parent: "x" } }), move("c", { before: { act: "unlink", parent: null } }), move("d", { refused: "it began before" })];
  const moved = await carryOut(acts, preview(moves));
  expect(acts.said.splice(0)).toEqual(["link a t", "link b t", "link c t"]);
  await takeBack(acts, moved);
  expect(acts.said).toEqual(["unlink c", "link b x", "withdraw a"]);
});

test("what was done before an act that failed can still be taken back", async () => {
  const acts = { ...acting(), link: (child: string) => (child === "b" ? Promise.reject(new Error("no")) : Promise.resolve()) };
  const done: Move[] = [];
  await expect(carryOut(acts, preview([move("a"), move("b")]), done)).rejects.toThrow("no");
  expect(done.map((one) => one.child)).toEqual(["a"]);
});

test("a parent is found by its words, and is none of those that move", () => {
  const tree = buildTree(skeleton([["a", 0], ["b", 1], ["c", 1]]), null);
  expect(candidates(tree, "task explore", ["b"]).map((node) => node.id)).toEqual(["a", "c"]);
  expect(candidates(tree, "  ", [])).toEqual([]);
});
