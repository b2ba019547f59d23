import { describe, expect, it } from "vitest";
import type { SumsRow } from "../api/types.gen";
import { OTHERS, daysOf, plotted, ticks } from "./plot";

const row = (day: string, model: string, cost: number): SumsRow => ({
  day, model, usage: { calls: 1, input: 1, output: 2, cache_read: 3, cache_write: 4, cost_usd: cost }, calls: null, tools: null, tasks: null,
});

describe("a plot of days", () => {
  it("has a bar for every day, also for those on which nothing happened", () => {
    expect(daysOf(["2026-11-03", "2026-10-31"])).toEqual(["2026-10-31", "2026-11-01", "2026-11-02", "2026-11-03"]);
    expect(daysOf([])).toEqual([]);
  });

  it("puts the parts of a day on top of each other, the dearest name first", () => {
    const plot = plotted([row("2026-11-01", "small", 1), row("2026-11-01", "large", 3), row("2026-11-02", "small", 1)], "model", "cost");
    expect(plot.names).toEqual(["large", "small"]);
    expect(plot.days[0]).toEqual({ day: "2026-11-01", total: 4, parts: [{ name: "large", value: 3, from: 0 }, { name: "small", value: 1, from: 3 }] });
    expect(plot.most).toBe(4);
  });

  it("keeps six names apart at most, and loses nothing", () => {
    const rows = Array.from({ length: 9 }, (_, at) => row("2026-11-01", `m${at}`, 10 - at));
    const plot = plotted(rows, "model", "tokens");
    expect(plot.names).toHaveLength(6);
    expect(plot.names.at(-1)).toBe(OTHERS);
    expect(plot.days[0]?.total).toBe(90);
  });

  it("has round figures on its axis", () => {
    expect(ticks(0)).toEqual([0]);
    expect(ticks(37)).toEqual([0, 10, 20, 30]);
    expect(ticks(1)).toEqual([0, 0.5, 1]);
  });
});
