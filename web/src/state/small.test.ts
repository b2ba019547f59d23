import { describe, expect, test } from "vitest";
import { EventReader } from "../api/sse";
import { age, clock, duration, money, tokens, timeWidth } from "./format";
import { skeleton } from "./fixtures";
import { place } from "./graph";
import { actOf } from "./keys";
import { sentence, share } from "./meter";
import { visibleRows } from "./rows";
import { FrameQueue, TOO_MANY } from "./store";
import { afterClosing, below, close, open } from "./tabs";
import { clip, firstLine, peek, visible } from "./text";
import { bar, ticks, union, zoom } from "./timeline";
import { buildTree } from "./tree";
import { doubtful, stalls } from "./waits";

describe("text that was captured", () => {
  test("shows what could deceive the eye", () => {
    expect(visible("a\u202eb\u0007c\u001b[31mred\u001b[0m\u001b[2J")).toBe("a⟦RLO⟧b␇cred␛[2J");
    expect(visible("line\r\nnext\ttab")).toBe("line\nnext\ttab");
  });

  test("is clipped by lines and by characters", () => {
    expect(clip("1\n2\n3\n4", 2)).toEqual({ text: "1\n2", hiddenLines: 2, hiddenCharacters: 4 });
    expect(clip("x".repeat(1_000_000)).text.length).toBe(2000);
    expect(clip("short")).toEqual({ text: "short", hiddenLines: 0, hiddenCharacters: 0 });
    expect(clip("1\n2", 2)).toEqual({ text: "1\n2", hiddenLines: 0, hiddenCharacters: 0 });
  });

  test("is told by its first line, a tool by its telling argument", () => {
    expect(firstLine("  one\ntwo", 2)).toBe("on…");
    expect(peek({ timeout: 3, command: "ls -l\nrm" })).toBe("ls -l");
    expect(peek({ anything: "x" })).toBe("x");
    expect(peek(null)).toBe("");
  });
});

test("a moment of another day has its date, and what lasted for days is told in days", () => {
  const at = new Date(2026, 4, 1, 9, 5, 7);
  expect(clock(at.toISOString(), new Date(2026, 4, 1, 23, 0, 0).getTime())).toBe("09:05:07");
  expect(clock(at.toISOString(), new Date(2026, 4, 2, 0, 0, 1).getTime())).toBe("2026-05-01 09:05:07");
  expect(timeWidth(at.toISOString(), new Date(2026, 4, 1, 23, 0, 0).getTime())).toBe(timeWidth(null));
  expect(timeWidth(at.toISOString(), new Date(2026, 4, 2, 0, 0, 1).getTime())).toBe("150px");
  expect(age(at.toISOString(), new Date(2026, 4, 9).getTime())).toBe("2026-05-01");
  expect([47.5, 50].map((hours) => duration(hours * 3_600_000))).toEqual(["47 h 30 m", "2 d 02 h"]);
});

test("figures are words for people, and an unknown price is not nothing", () => {
  expect([0, 999, 1500, 59_400, 61_000, 3_700_000, null].map(duration)).toEqual(["0 ms", "999 ms", "1.5 s", "59 s", "1 m 01 s", "1 h 01 m", "—"]);
  expect([999, 1500, 15_000, 2_500_000].map(tokens)).toEqual(["999", "1.5k", "15k", "2.5M"]);
  expect([null, 0, 0.001, 1.234, 250].map(money)).toEqual(["—", "$0", "<1¢", "$1.23", "$250"]);
  expect(age("2026-05-01T10:00:00Z", Date.parse("2026-05-01T10:02:00Z"))).toBe("2 m ago");
});

describe("the live feed", () => {
  test("is read from pieces that end anywhere", () => {
    const whole = 'retry: 1000\n\nid: 7\nevent: changes\ndata: {"seq":7}\n\n: ping\n\nevent: resync\ndata: {}\n\n';
    for (let size = 1; size < 20; size += 1) {
      const reader = new EventReader();
      const events = [];
      for (let at = 0; at < whole.length; at += size) events.push(...reader.read(whole.slice(at, at + size)));
      expect(events).toEqual([{ id: "7", name: "changes", data: '{"seq":7}' }, { id: "", name: "resync", data: "{}" }]);
    }
  });

  test("is applied once a frame, for a few milliseconds, in order", () => {
    const applied: number[] = [];
    const waiting: number[] = [];
    const frames: (() => void)[] = [];
    let now = 0;
    const queue = new FrameQueue<number>((item) => { applied.push(item); now += 0.05; }, (left) => waiting.push(left), () => undefined, (work) => frames.push(work), () => now);
    queue.add(Array.from({ length: 500 }, (_, at) => at));
    expect(frames.length).toBe(1);
    while (frames.length) frames.shift()?.();
    expect(applied).toEqual(Array.from({ length: 500 }, (_, at) => at));
    expect(waiting[0]).toBeGreaterThan(0);
    expect(waiting.at(-1)).toBe(0);
  });

  test("that is too far ahead is let go for a fresh snapshot", () => {
    let reloaded = 0;
    const queue = new FrameQueue<number>(() => undefined, () => undefined, () => { reloaded += 1; }, () => undefined, () => 0);
    queue.add(new Array<number>(TOO_MANY + 1).fill(0));
    expect(reloaded).toBe(1);
  });
});

describe("tabs", () => {
  const tab = (id: string, root: string, parent: string | null) => ({ id, title: id, root, parent, status: "working" });
  const tabs = [tab("a", "a", null), tab("x", "x", null), tab("b", "a", "a"), tab("c", "a", "b")].reduce(open, []);

  test("of one run stand together, parent first, each once", () => {
    expect(tabs.map((one) => one.id)).toEqual(["a", "b", "c", "x"]);
    expect(open(tabs, tab("b", "a", "a")).length).toBe(4);
    expect(open([tab("b", "a", "a")], tab("a", "a", null)).map((one) => one.id)).toEqual(["a", "b"]);
  });

  test("close with their children if wished, and one looks at the parent next", () => {
    expect(below(tabs, "a").map((one) => one.id)).toEqual(["b", "c"]);
    expect(close(tabs, "a", true).map((one) => one.id)).toEqual(["x"]);
    expect(close(tabs, "a", false).map((one) => one.id)).toEqual(["b", "c", "x"]);
    expect(afterClosing(tabs, "c", true)).toBe("b");
    expect(afterClosing(tabs, "a", true)).toBe("x");
  });
});

test("a key means what the table says, also after another one", () => {
  const key = (name: string, more = {}) => ({ key: name, ctrlKey: false, metaKey: false, altKey: false, ...more });
  expect(actOf(key("j"), "").act).toBe("next");
  expect(actOf(key("g"), "")).toEqual({ act: null, pending: "g" });
  expect(actOf(key("t"), "g").act).toBe("runs");
  expect(actOf(key("k", { ctrlKey: true }), "").act).toBe("palette");
  expect(actOf(key("j", { altKey: true }), "").act).toBe(null);
});

describe("the timeline", () => {
  const window = { from: 1000, to: 2000 };

  test("places bars inside the window and leaves out what is elsewhere", () => {
    expect(bar(1250, 1500, window)).toEqual({ left: 25, width: 25 });
    expect(bar(0, 1100, window)).toEqual({ left: 0, width: 10 });
    expect(bar(0, 900, window)).toBe(null);
  });

  test("joins what overlaps, and has round moments", () => {
    expect(union([{ left: 10, width: 10 }, { left: 15, width: 10 }, { left: 40, width: 5 }])).toEqual([{ left: 10, width: 15 }, { left: 40, width: 5 }]);
    expect(ticks({ from: 1000, to: 9000 }, 1000)).toEqual([1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000]);
  });

  test("is never zoomed out of the run", () => {
    expect(zoom(window, 100, 5000)).toEqual({ from: 1100, to: 2000 });
    expect(zoom(window, 900, 100)).toEqual(window);
  });
});

test("a graph puts parents in the middle of their children", () => {
  const rows = visibleRows(buildTree(skeleton([["a", 0], ["b", 1], ["c", 1], ["d", 2], ["e", 0]]), null), { below: null, toggled: new Set(), focus: null, words: "" });
  const picture = place(rows);
  const y = new Map(picture.boxes.map((box) => [box.row.id, box.y]));
  expect([y.get("b"), y.get("d"), y.get("c"), y.get("a"), y.get("e")]).toEqual([0, 56, 56, 28, 112]);
  expect(picture.edges.map((edge) => `${edge.from.row.id}${edge.to.row.id}`)).toEqual(["ab", "ac", "cd"]);
});

test("what is not known is said in a sentence", () => {
  const found = { tasks: 4, calls: 4, tools: 2, unreadable: 0, withheld_counted: true, missing: [{ kind: "inferred" as const, count: 1, ids: ["t"] }, { kind: "withheld" as const, count: 3, ids: [] }] };
  expect(sentence(found)).toBe("1 link by inference, reasoning withheld in 3 calls");
  expect(share(found)).toBe(0.9);
  expect(sentence({ ...found, missing: [] })).toBe("Everything that was seen is known");
});

test("only the deepest of those that wait is called silent", () => {
  const tree = buildTree(skeleton([["a", 0, { status: "w" }], ["b", 1, { status: "w" }], ["c", 1]]), null);
  const later = Date.parse("2026-05-01T10:10:00Z");
  expect(stalls(tree, later)).toEqual([]); // whether it is, the server says
  expect(doubtful(tree).map((node) => node.id)).toEqual(["b"]);
  tree.nodes.get("b")!.flags = ["stalled"];
  expect(stalls(tree, later).map((wait) => [wait.node.id, wait.above])).toEqual([["b", 1]]);
});
