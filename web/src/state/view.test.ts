import { expect, test } from "vitest";
import type { View } from "./view";
import { START, formatView, parseView, toggle } from "./view";

const at = (path: string) => parseView(new URL(path, "http://127.0.0.1:8377"));

const VIEWS: View[] = [
  START,
  { ...START, page: "task", id: "task_1", tab: "tree", selected: "tool:toolu_1", pane: "why", below: 2, toggled: ["a", "b~Explore agent"], focus: "task_9" },
  { ...START, page: "task", id: "a2a:task:planner/7f3c", tab: "timeline", from: 0, to: 1500, onlyPeople: true, critical: true, lanes: true },
  { ...START, page: "search", words: 'a & b="c"? #1' },
  { ...START, page: "compare", a: "task_1", b: "task_2" },
  { ...START, page: "calls", kind: "utility", status: "error" },
];

test.each(VIEWS)("an address gives back the view that it was made from: %#", (view) => {
  expect(parseView(new URL(formatView(view), "http://127.0.0.1:8377"))).toEqual(view);
});

test("what an address says wrongly is left out, never an error", () => {
  expect(at("/task/x?tab=nonsense&below=-1&from=abc&pane=9")).toMatchObject({ page: "task", id: "x", tab: "transcript", below: null, from: null, pane: "details" });
  expect(at("/task/%E0%A4%A")).toMatchObject({ page: "task" });
  expect(at("/no/such/page")).toMatchObject({ page: "unknown", id: "/no/such/page" });
  expect(at("/task")).toMatchObject({ page: "unknown" });
});

test("a fold is turned and turned back", () => {
  expect(toggle(toggle(["a"], "b"), "a")).toEqual(["b"]);
});
