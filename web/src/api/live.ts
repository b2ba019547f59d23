/** The live feed: one connection for the whole page, resumed where it broke, remembered for snapshots that come late.
 *
 * It is read with `fetch` and not with `EventSource`, which says nothing about why it was refused.
 */
import { api, address } from "./client";
import { gate } from "../state/gate";
import { EventReader } from "./sse";
import type { Change, Changes } from "./types.gen";

export type LiveState =
  | { kind: "connecting" }
  | { kind: "live" }
  | { kind: "saved" }
  | { kind: "behind"; changes: number }
  | { kind: "disconnected"; since: number; nextTry: number };

export interface Listener {
  changed(seq: number, changes: Change[]): void;
  /** What was missed is not known: load everything again. */
  restart(): void;
}

const REMEMBERED = 20_000;
const SILENCE = 40_000; // the server pings every 15 seconds
const LONGEST_PAUSE = 15_000;
const LONGEST_TURN = 4;

export class Feed {
  state: LiveState = { kind: "connecting" };
  arrivals: number[] = [];
  private seq = 0;
  private batches: Changes[] = [];
  private remembered = 0;
  private forgotten = 0;
  private readonly listeners = new Set<Listener>();
  private readonly watchers = new Set<() => void>();
  private failures = 0;
  private started = false;
  private snapshot: Promise<number> | null = null;
  private wake: (() => void) | null = null;

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  current = (): LiveState => this.state;

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Changes after a snapshot; null when they are no longer known and the snapshot must be loaded again. */
  after(seq: number): Changes[] | null {
    if (seq < this.forgotten) return null;
    return this.batches.filter((batch) => batch.seq > seq);
  }

  /** From a snapshot's number on, if there is one: then nothing can be missing between the two. */
  start(snapshot?: Promise<number>): void {
    if (this.started) return;
    this.started = true;
    this.snapshot = snapshot ?? null;
    void this.follow();
  }

  /** Of a saved run: nothing will ever change. */
  hold(): void {
    this.started = true;
    this.set({ kind: "saved" });
  }

  retry(): void {
    this.wake?.();
  }

  fellBehind(changes: number): void {
    if (changes > 0) this.set({ kind: "behind", changes });
    else if (this.state.kind === "behind") this.set({ kind: "live" });
  }

  private set(state: LiveState): void {
    this.state = state;
    for (const watcher of this.watchers) watcher();
  }

  private async follow(): Promise<void> {
    let since = Date.now();
    for (;;) {
      try {
        await this.connect(() => {
          this.failures = 0;
        });
      } catch {
        // Whatever it was: the answer is to try again.
      }
      if (this.failures === 0) since = Date.now();
      const pause = Math.min(1000 * 2 ** this.failures, LONGEST_PAUSE);
      this.failures += 1;
      this.set({ kind: "disconnected", since, nextTry: Date.now() + pause });
      await this.pause(pause);
    }
  }

  private pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private async connect(opened: () => void): Promise<void> {
    if (this.seq === 0) {
      const known = await this.snapshot; // 0: there is none, and whoever asked for it shows why
      this.snapshot = null;
      this.seq = known || (await api.stats()).seq;
      this.forgotten = this.seq;
    }
    const ending = new AbortController();
    const response = await fetch(address("live", { since: this.seq }), { signal: ending.signal });
    if (response.status === 401) gate.lock();
    if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
    opened();
    this.set({ kind: "live" });
    await this.read(response.body.pipeThrough(new TextDecoderStream()).getReader(), ending);
  }

  private async read(pieces: ReadableStreamDefaultReader<string>, ending: AbortController): Promise<void> {
    const reader = new EventReader();
    let turn = performance.now();
    for (;;) {
      const silence = setTimeout(() => ending.abort(), SILENCE);
      const { done, value } = await pieces.read().finally(() => clearTimeout(silence));
      if (done) return;
      for (const event of reader.read(value)) {
        if (event.name === "resync") this.restart();
        if (event.name === "changes") this.take(JSON.parse(event.data) as Changes);
        // What arrives at one go is read in several, so that frames are drawn between.
        if (performance.now() - turn < LONGEST_TURN) continue;
        await new Promise((resolve) => setTimeout(resolve));
        turn = performance.now();
      }
    }
  }

  private restart(): void {
    this.seq = 0;
    this.batches = [];
    this.remembered = 0;
    for (const listener of this.listeners) listener.restart();
  }

  private take(batch: Changes): void {
    if (!batch.more) this.seq = batch.seq;
    this.batches.push(batch);
    this.remembered += batch.changes.length;
    this.arrivals = [...this.arrivals.filter((at) => at > Date.now() - 120_000), Date.now()];
    while (this.remembered > REMEMBERED && this.batches.length > 1) {
      const old = this.batches.shift();
      this.remembered -= old?.changes.length ?? 0;
      this.forgotten = old?.seq ?? this.forgotten;
    }
    for (const listener of this.listeners) listener.changed(batch.seq, batch.changes);
  }
}

export const feed = new Feed();
