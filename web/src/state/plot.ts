/** Sums of days as stacked bars: a bar for each day, also for those on which nothing happened, and a part for each name. */
import type { SumsRow } from "../api/types.gen";
import { allTokens } from "./format";

export const MEASURES = ["cost", "tokens", "calls"] as const;
export type Measure = (typeof MEASURES)[number];
export const NAMES = ["model", "agent", "project", "tool"] as const;
export type Name = (typeof NAMES)[number];

export const OTHERS = "others";
const MOST = 6;
const DAY = 86_400_000;
const LONGEST = 400; // days that are drawn

export interface Part {
  name: string;
  value: number;
  from: number;
}

export interface Plot {
  names: string[];
  days: { day: string; total: number; parts: Part[] }[];
  most: number;
}

export function measured(row: SumsRow, measure: Measure): number {
  if (measure === "cost") return row.usage.cost_usd ?? 0;
  if (measure === "tokens") return allTokens(row.usage);
  return (row.tool !== undefined && row.tool !== null ? row.tools?.count : row.calls?.count) ?? 0;
}

/** The names with most of it, from the most on; the rest is one. */
export function plotted(rows: SumsRow[], name: Name, measure: Measure): Plot {
  const sums = new Map<string, number>();
  for (const row of rows) sums.set(row[name] ?? "", (sums.get(row[name] ?? "") ?? 0) + measured(row, measure));
  const ordered = [...sums].filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
  const chosen = ordered.slice(0, ordered.length > MOST ? MOST - 1 : MOST).map(([one]) => one);
  const names = ordered.length > chosen.length ? [...chosen, OTHERS] : chosen;
  const byDay = new Map<string, Map<string, number>>();
  for (const row of rows) {
    const shown = chosen.includes(row[name] ?? "") ? (row[name] ?? "") : OTHERS;
    const day = byDay.get(row.day ?? "") ?? byDay.set(row.day ?? "", new Map()).get(row.day ?? "");
    day?.set(shown, (day.get(shown) ?? 0) + measured(row, measure));
  }
  const days = daysOf([...byDay.keys()]).map((day) => stacked(day, names, byDay.get(day) ?? new Map()));
  return { names, days, most: Math.max(0, ...days.map((day) => day.total)) };
}

function stacked(day: string, names: string[], values: Map<string, number>): Plot["days"][number] {
  let total = 0;
  const parts = names.flatMap((name) => {
    const value = values.get(name) ?? 0;
    if (!value) return [];
    const part = { name, value, from: total };
    total += value;
    return [part];
  });
  return { day, total, parts };
}

/** From the first to the last, none left out. */
export function daysOf(days: string[]): string[] {
  const known = days.filter((day) => day !== "").sort();
  const [first] = known;
  const last = known.at(-1);
  if (!first || !last) return [];
  const found: string[] = [];
  const begin = Math.max(Date.parse(first), Date.parse(last) - (LONGEST - 1) * DAY);
  for (let at = begin; at <= Date.parse(last); at += DAY) found.push(new Date(at).toISOString().slice(0, 10));
  return found;
}

/** Round figures for an axis, from nothing up: three or four of them. */
export function ticks(most: number): number[] {
  if (most <= 0) return [0];
  const size = 10 ** Math.floor(Math.log10(most));
  const step = [0.2, 0.5, 1, 2, 5].map((one) => one * size).find((one) => most / one <= 4) ?? size * 5;
  const found: number[] = [];
  for (let at = 0; at <= most * 1.0001; at += step) found.push(at);
  return found;
}
