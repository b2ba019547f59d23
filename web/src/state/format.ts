/** Figures for people: the same words in every list. */

import type { Usage } from "../api/types.gen";

export function duration(milliseconds: number | null): string {
  if (milliseconds === null || !Number.isFinite(milliseconds)) return "—";
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} m ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${String(minutes % 60).padStart(2, "0")} m`;
  return `${Math.floor(hours / 24)} d ${String(hours % 24).padStart(2, "0")} h`;
}

/** Everything that was read and written, from the cache and to it as well: what every list, filter and sum means by tokens. */
export function allTokens(usage: Usage): number {
  return usage.input + usage.output + usage.cache_read + usage.cache_write;
}

export function tokens(count: number): string {
  if (count < 1000) return String(count);
  if (count < 10_000) return `${(count / 1000).toFixed(1)}k`;
  if (count < 1_000_000) return `${Math.round(count / 1000)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** An unknown price is never shown as nothing. */
export function money(dollars: number | null | undefined): string {
  if (dollars === null || dollars === undefined) return "—";
  if (dollars === 0) return "$0";
  if (dollars < 0.01) return "<1¢";
  return dollars < 100 ? `$${dollars.toFixed(2)}` : `$${Math.round(dollars)}`;
}

export function age(moment: string | null, now: number): string {
  if (!moment) return "—";
  const seconds = Math.max(0, (now - Date.parse(moment)) / 1000);
  if (seconds < 10) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return day(new Date(moment));
}

/** The day and the minute. */
export function dated(moment: string | null): string {
  return moment ? new Date(moment).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short", hour12: false }) : "—";
}

const two = (number: number): string => String(number).padStart(2, "0");
const day = (at: Date): string => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

/** The reader's own time of day; with the date where that is not today. */
export function clock(moment: string | null, now = Date.now()): string {
  if (!moment) return "—";
  const at = new Date(moment);
  const time = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  return day(at) === day(new Date(now)) ? time : `${day(at)} ${time}`;
}

/** How wide a column of such moments is, by the oldest of them: one of another day has its date. */
export function timeWidth(oldest: string | null | undefined, now = Date.now()): string {
  return clock(oldest ?? null, now).length > "12:00:00".length ? "150px" : "64px";
}

/** 30,000. By hand: the browser's own way costs 30 ms when it is first used, which is before the first rows are drawn. */
export function grouped(number: number): string {
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${grouped(number)} ${number === 1 ? one : many}`;
}

export function bytes(number: number): string {
  if (number < 1000) return `${number} B`;
  return number < 1_000_000 ? `${(number / 1000).toFixed(1)} kB` : `${(number / 1_000_000).toFixed(1)} MB`;
}
