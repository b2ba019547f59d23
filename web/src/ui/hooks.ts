/** The few hooks that tie plain state to drawing. */
import { useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";
import { ApiError } from "../api/client";
import type { Observable } from "../state/store";

export function useStore(store: Observable): number {
  return useSyncExternalStore(store.subscribe, store.version);
}

const ticking = new Set<() => void>();
setInterval(() => {
  if (!document.hidden) for (const tick of ticking) tick();
}, 1000);

/** The time, once a second, from one timer for the whole page. */
export function useNow(running: boolean): number {
  const [now, set] = useState(() => Date.now());
  useEffect(() => {
    if (!running) return undefined;
    const tick = () => set(Date.now());
    ticking.add(tick);
    tick();
    return () => void ticking.delete(tick);
  }, [running]);
  return now;
}

export interface Loaded<Value> {
  value: Value | null;
  error: ApiError | null;
  loading: boolean;
  again: () => void;
}

const SETTLE = 400;

/** The answer to a question. When only `round` moves, it is asked again after a moment and the old value stays meanwhile. */
export function useAnswer<Value>(ask: (() => Promise<Value>) | null, key: string, round: number | string = 0): Loaded<Value> {
  const [state, set] = useState<{ key: string; value: Value | null; error: ApiError | null }>({ key: "", value: null, error: null });
  const [turn, next] = useState(0);
  const latest = useRef(ask);
  latest.current = ask;
  const asked = useRef("");
  useEffect(() => {
    let current = true;
    const run = () =>
      latest.current?.().then(
        (value) => current && set({ key, value, error: null }),
        (error: unknown) => current && set((old) => ({ key, value: old.key === key ? old.value : null, error: asApiError(error) })),
      );
    const timer = setTimeout(() => void run(), asked.current === `${key} ${turn}` ? SETTLE : 0);
    asked.current = `${key} ${turn}`;
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [key, round, turn]);
  const fresh = state.key === key;
  return { value: fresh ? state.value : null, error: fresh ? state.error : null, loading: !fresh && ask !== null, again: () => next((n) => n + 1) };
}

export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(0, "bug", String(error), "This is our bug");
}

/** A strip that is wider than the screen, scrolled sideways so far that what is current in it can be seen. */
export function useInSight<Kind extends HTMLElement>(current: string, key: string): React.RefObject<Kind | null> {
  const strip = useRef<Kind>(null);
  useLayoutEffect(() => {
    const room = strip.current?.getBoundingClientRect();
    const its = strip.current?.querySelector(current)?.getBoundingClientRect();
    if (!room || !its || !strip.current) return;
    if (its.left < room.left) strip.current.scrollLeft -= room.left - its.left;
    else if (its.right > room.right) strip.current.scrollLeft += its.right - room.right;
  }, [current, key]);
  return strip;
}

/** The size of an element, followed. */
export function useSize<Kind extends HTMLElement>(): [React.RefObject<Kind | null>, { width: number; height: number }] {
  const element = useRef<Kind>(null);
  const [size, set] = useState({ width: 0, height: 0 });
  useEffect(() => {
    if (!element.current) return undefined;
    const observer = new ResizeObserver(([entry]) => entry && set({ width: entry.contentRect.width, height: entry.contentRect.height }));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, size];
}
