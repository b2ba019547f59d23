/** Bars on one axis: where a row stands between two moments, and which moments are worth a line. */

export interface Window {
  from: number;
  to: number;
}

export interface Bar {
  left: number; // per cent
  width: number;
}

export function bar(start: number, end: number, window: Window): Bar | null {
  const length = Math.max(window.to - window.from, 1);
  if (end < window.from || start > window.to) return null;
  const left = Math.max(0, ((start - window.from) / length) * 100);
  const right = Math.min(100, ((end - window.from) / length) * 100);
  return { left, width: Math.max(right - left, 0.15) };
}

/** Bars that overlap or touch become one. */
export function union(bars: Bar[]): Bar[] {
  const found: Bar[] = [];
  for (const one of [...bars].sort((a, b) => a.left - b.left)) {
    const last = found.at(-1);
    if (last && one.left <= last.left + last.width) last.width = Math.max(last.width, one.left + one.width - last.left);
    else found.push({ ...one });
  }
  return found;
}

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 86_400_000];

/** Round moments since the beginning, at most so many. */
export function ticks(window: Window, base: number, most = 8): number[] {
  const length = window.to - window.from;
  const step = STEPS.find((one) => length / one <= most) ?? STEPS.at(-1) ?? 1;
  const found: number[] = [];
  for (let at = Math.ceil((window.from - base) / step) * step; base + at <= window.to; at += step) found.push(base + at);
  return found;
}

/** The part of the whole that is looked at, kept inside it. */
export function zoom(whole: Window, from: number | null, to: number | null): Window {
  const start = whole.from + Math.max(0, from ?? 0);
  const end = to === null ? whole.to : Math.min(whole.to, whole.from + to);
  return end - start < 1 ? whole : { from: start, to: end };
}
