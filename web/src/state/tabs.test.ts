import { expect, test } from "vitest";
import type { Tabs } from "./tabs";
import { asking, renamed, tabOf } from "./tabs";

const tab = (id: string, parent: string | null, root = "root", status = "working") => ({ id, title: id, root, parent, status });
const TABS: Tabs = [tab("root", null), tab("child", "root"), tab("other", null, "other")];

test("an announced child joins the group of the nearest task above it that is open", () => {
  const child = { id: "new", parent: "child", title: "Lookup", status: "unknown" };
  expect(tabOf(TABS, child, new Map())).toEqual({ id: "new", title: "Lookup", root: "root", parent: "child", status: "unknown" });
  expect(tabOf(TABS, { ...child, parent: "closed" }, new Map([["closed", "root"]]))?.root).toBe("root");
  expect(tabOf(TABS, { ...child, parent: "elsewhere" }, new Map())).toBeNull();
  expect(tabOf([], { ...child, parent: "a" }, new Map([["a", "b"], ["b", "a"]]))).toBeNull();
});

test("a name that turns out to be a task keeps its one tab", () => {
  expect(renamed(TABS, "child", "real").map((one) => one.id)).toEqual(["root", "real", "other"]);
  expect(renamed([...TABS, tab("real", "root"), tab("below", "child")], "child", "real").map((one) => `${one.id}<${one.parent}`)).toEqual(["root<null", "other<null", "real<root", "below<real"]);
});

test("who waits for somebody says so on every tab above", () => {
  const tabs = [...TABS, tab("leaf", "child", "root", "input-required")];
  expect([...asking(tabs, new Map())].sort()).toEqual(["child", "leaf", "root"]);
  expect([...asking(tabs, new Map([["leaf", { status: "working", waiting: 0 }]]))]).toEqual([]);
  expect([...asking(TABS, new Map([["other", { status: "working", waiting: 1 }]]))]).toEqual(["other"]);
});
