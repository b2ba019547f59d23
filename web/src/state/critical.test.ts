import { describe, expect, test } from "vitest";
import { criticalPath, shares } from "./critical";
import { skeleton } from "./fixtures";
import { arrowsBetween, lanesOf } from "./lanes";
import type { Node } from "./tree";
import { buildTree } from "./tree";

/** A tree with times of its own, in seconds: [id, depth, start, end]. */
function timed(rows: [string, number, number, number | null][], conversation: string | null = null) {
  const tree = buildTree(skeleton(rows.map(([id, depth, , end]) => [id, depth, end === null ? { status: "w" } : {}])), conversation);
  for (const [id, , start, end] of rows) Object.assign(tree.nodes.get(id) as Node, { start, end, active: start });
  return tree;
}

const told = (rows: [string, number, number, number | null][], now = 100) => criticalPath(timed(rows).roots[0] as Node, now).map(({ node, from, to }) => [node.id, from, to]);

describe("the critical path", () => {
  test("goes through the child that ended last, and from there to what had to be done before", () => {
    expect(told([["a", 0, 0, 20], ["quick", 1, 2, 5], ["slow", 1, 2, 9], ["later", 1, 12, 18]])).toEqual([["a", 0, 2], ["slow", 2, 9], ["a", 9, 12], ["later", 12, 18], ["a", 18, 20]]);
  });

  test("goes down as deep as agents go, and counts every moment once", () => {
    const path = told([["a", 0, 0, 20], ["b", 1, 2, 18], ["c", 2, 4, 16], ["d", 1, 3, 17]]);
    expect(path).toEqual([["a", 0, 2], ["b", 2, 4], ["c", 4, 16], ["b", 16, 18], ["a", 18, 20]]);
    expect(path.reduce((sum, [, from, to]) => sum + Number(to) - Number(from), 0)).toBe(20);
  });

  test("ends with work in the background that outlasts its task, and with the present where somebody works", () => {
    expect(told([["a", 0, 0, 5], ["b", 1, 2, 9]])).toEqual([["a", 0, 2], ["b", 2, 9]]);
    expect(told([["a", 0, 0, null], ["b", 1, 2, null]], 30)).toEqual([["a", 0, 2], ["b", 2, 30]]);
  });

  test("of a chain of thousands is found", () => {
    const rows = Array.from({ length: 5000 }, (_, at): [string, number, number, number] => [`n${at}`, at, at, 20_000 - at]);
    const path = criticalPath(timed(rows).roots[0] as Node, 0);
    expect(path.reduce((sum, { from, to }) => sum + to - from, 0)).toBe(20_000);
    expect(shares(path)[0]?.node.id).toBe("n4999");
  });
});

describe("lanes", () => {
  test("stand in the order of their beginning; prompts of one conversation share the first", () => {
    const tree = timed([["a", 0, 0, 9], ["late", 1, 5, 8], ["early", 1, 1, 4], ["b", 0, 10, 12], ["c", 1, 11, null]], "conv");
    const { lanes, arrows } = lanesOf(tree, 100);
    expect(lanes.map((lane) => lane.nodes.map((node) => node.id))).toEqual([["a", "b"], ["early"], ["late"], ["c"]]);
    expect(arrows.map(({ kind, from, to, at }) => [kind, from, to, at])).toEqual([
      ["given", 0, 1, 1], ["returned", 1, 0, 4], ["given", 0, 2, 5], ["returned", 2, 0, 8], ["given", 0, 3, 11],
    ]);
  });

  test("far from the screen have no arrows drawn", () => {
    const tree = timed(Array.from({ length: 2001 }, (_, at): [string, number, number, number] => [`n${at}`, at ? 1 : 0, at, at + 1]));
    const { arrows } = lanesOf(tree, 0);
    expect(arrows).toHaveLength(4000);
    expect(arrowsBetween(arrows, 0, 30).length).toBeLessThanOrEqual(400);
    expect(arrowsBetween(arrows.slice(0, 10), 0, 3)).toHaveLength(10);
  });
});
