/** The feed of a session's events: a page of it, then the stream, and polling by number wherever the stream breaks. */
import { ApiError, api, sessionAddress } from "../api/client";
import { EventReader } from "../api/sse";
import type { LoggedEvent } from "../api/types.gen";
import type { Wanted } from "./operations";
import { fits } from "./operations";
import { Observable } from "./store";

export type FeedState = "loading" | "live" | "polling";

const PAGE = 200;
const MOST = 5000; // events that are kept on the page
const POLL = 5000;
const SILENCE = 40_000; // the server pings every 15 seconds

export class EventFeed extends Observable {
  events: LoggedEvent[] = []; // newest first
  state: FeedState = "loading";
  error: ApiError | null = null;
  /** Numbers that the server no longer has. */
  gap: { from: number; to: number } | null = null;
  older = true;
  loaded = false;
  cleared = false;
  private last = 0;
  private ending = new AbortController();
  private readonly known = new Set<number>();

  constructor(
    readonly session: string,
    readonly wanted: Wanted,
  ) {
    super();
  }

  open(): () => void {
    this.ending = new AbortController();
    void this.follow(this.ending.signal);
    return () => this.ending.abort();
  }

  async load(): Promise<void> {
    try {
      const page = await api.events(this.session, this.wanted, { limit: PAGE });
      this.events = [];
      this.known.clear();
      this.take(page.events);
      this.last = page.lastSeq;
      this.older = page.events.length === PAGE;
      this.error = null;
    } catch (error) {
      this.error = error instanceof ApiError ? error : new ApiError(0, "bug", String(error), "This is our bug");
    }
    this.loaded = true;
    this.touched();
  }

  async more(): Promise<void> {
    const page = await api.events(this.session, this.wanted, { limit: PAGE, before_seq: this.events.at(-1)?.seq ?? 0 });
    this.older = page.events.length === PAGE;
    this.take(page.events);
    this.touched();
  }

  private async follow(signal: AbortSignal): Promise<void> {
    await this.load();
    while (!signal.aborted) {
      await this.stream(signal).catch(() => undefined); // however it ended: what follows is the same
      if (signal.aborted) return;
      this.set("polling");
      await this.poll().catch(() => undefined); // the server is away: asked again
      await new Promise((resolve) => setTimeout(resolve, POLL));
    }
  }

  private async stream(signal: AbortSignal): Promise<void> {
    const ending = new AbortController();
    const end = () => ending.abort();
    signal.addEventListener("abort", end);
    try {
      const { operation, agent } = this.wanted;
      const given = { after_seq: this.last, operation_id: operation === "-" ? "" : operation, agent_id: agent };
      const response = await fetch(sessionAddress(this.session, "events/stream", given), { signal: ending.signal });
      if (!response.ok || !response.body) throw new Error(`status ${response.status}`);
      this.set("live");
      await this.read(response.body.pipeThrough(new TextDecoderStream()).getReader(), end);
    } finally {
      signal.removeEventListener("abort", end);
    }
  }

  private async read(pieces: ReadableStreamDefaultReader<string>, end: () => void): Promise<void> {
    const reader = new EventReader();
    for (;;) {
      const silence = setTimeout(end, SILENCE);
      const { done, value } = await pieces.read().finally(() => clearTimeout(silence));
      if (done) return;
      const fresh: LoggedEvent[] = [];
      for (const frame of reader.read(value)) {
        if (frame.name === "cleared") await this.empty();
        else if (frame.name === "gap") this.gap = JSON.parse(frame.data) as { from: number; to: number };
        else if (frame.name === "message") fresh.push(JSON.parse(frame.data) as LoggedEvent);
        if (frame.id) this.last = Number(frame.id);
      }
      if (this.take(fresh)) this.touched();
    }
  }

  private async poll(): Promise<void> {
    const page = await api.events(this.session, this.wanted, { limit: 1000, after_seq: this.last });
    if (page.gap) this.gap = page.gap;
    if (page.lastSeq < this.last) await this.load();
    this.last = Math.max(this.last, page.events.at(-1)?.seq ?? 0);
    if (this.take(page.events)) this.touched();
  }

  private async empty(): Promise<void> {
    await this.load();
    this.cleared = true;
    this.touched();
  }

  /** Each number once, newest first; whether anything was new. */
  private take(events: LoggedEvent[]): boolean {
    const fresh = events.filter((event) => !this.known.has(event.seq) && fits(event, this.wanted));
    if (!fresh.length) return false;
    for (const event of fresh) this.known.add(event.seq);
    this.events = [...this.events, ...fresh].sort((one, other) => other.seq - one.seq).slice(0, MOST);
    return true;
  }

  private set(state: FeedState): void {
    if (this.state === state) return;
    this.state = state;
    this.touched();
  }
}
