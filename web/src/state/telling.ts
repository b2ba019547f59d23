/** What was said in one task: loaded in pages, then call by call as calls change. */
import { ApiError, api } from "../api/client";
import type { Call, Change, Message, Task } from "../api/types.gen";
import type { Rows } from "./kept";
import { keptProtocol, readKept } from "./kept";
import type { Question } from "./question";
import { questionOf } from "./question";
import { Observable } from "./store";
import type { Item } from "./transcript";
import { readTranscript } from "./transcript";

const TOGETHER = 150; // milliseconds in which changes of the same call are asked for once

const NONE: Rows = { messages: [], tools: [], reasoning: [], events: [] };

export class Telling extends Observable {
  task: Task | null = null;
  items: Item[] = [];
  children: Task[] = [];
  error: ApiError | null = null;
  loaded = false;
  private messages: Message[] = []; // in the server's order
  private rows: Rows | null = null; // of a protocol that keeps them
  private pause = TOGETHER;
  private calls = new Map<string, Call>();
  private waiting = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(readonly id: string) {
    super();
  }

  async load(): Promise<void> {
    try {
      const [task, calls, children] = await Promise.all([api.task(this.id), api.calls({ task: this.id, limit: 5000 }), api.subtasks(this.id)]);
      this.task = task;
      this.children = children.items;
      this.calls = new Map(calls.items.map((call) => [call.id, call]));
      if (keptProtocol(task)) await this.loadRows();
      else await this.loadMessages();
      this.error = null;
    } catch (error) {
      this.error = error instanceof ApiError ? error : new ApiError(0, "bug", String(error), "This is our bug");
    }
    this.loaded = true;
    this.tell();
  }

  private async loadMessages(): Promise<void> {
    let cursor: string | null = null;
    const fresh: Message[] = [];
    do {
      const page: Awaited<ReturnType<typeof api.messages>> = await api.messages(this.id, cursor);
      fresh.push(...page.items);
      cursor = page.next;
      if (cursor && fresh.length > this.messages.length) {
        this.messages = [...fresh];
        this.tell(); // the first screen does not wait for the rest
      }
    } while (cursor);
    this.messages = fresh;
  }

  private async loadRows(): Promise<void> {
    const began = performance.now();
    const [, tools, reasoning, events] = await Promise.all([
      this.loadMessages(),
      api.tools(this.id, false),
      api.reasoning(this.id, false),
      this.task && keptProtocol(this.task) === "adcp" ? api.taskEvents(this.id) : { items: [] },
    ]);
    this.rows = { messages: this.messages, tools: tools.items, reasoning: reasoning.items, events: events.items };
    this.pause = Math.max(TOGETHER, 3 * (performance.now() - began)); // a long task is read again less often
  }

  hear = (change: Change): void => {
    if (change.call?.task === this.id) {
      this.calls.set(change.call.id, change.call);
      this.ask(change.call.id);
    }
    if (change.task?.id === this.id) this.task = { ...this.task, ...change.task };
    if (change.task?.parent === this.id) this.children = [...this.children.filter((child) => child.id !== change.task?.id), change.task];
    if (change.task?.id === this.id || change.task?.parent === this.id) this.ask(null);
    if (change.tool && (this.calls.has(change.tool.call ?? "") || change.tool.task === this.id)) this.ask(null);
    if (change.artifact?.task === this.id) this.ask(null);
  };

  question(): Question | null {
    return this.task ? questionOf(this.task, this.messages) : null;
  }

  private ask(call: string | null): void {
    if (call) this.waiting.add(call);
    this.timer ??= setTimeout(() => void this.refresh(), this.pause);
  }

  private async refresh(): Promise<void> {
    this.timer = null;
    const wanted = [...this.waiting];
    this.waiting.clear();
    try {
      if (this.rows) {
        this.task = await api.task(this.id);
        await this.loadRows();
      }
      // What was reported belongs to no call that could be asked for alone.
      else if (this.messages.some((message) => message.source)) await this.loadMessages();
      else for (const call of wanted) this.place(call, (await api.messages(call)).items);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 404)) for (const call of wanted) this.waiting.add(call); // asked again with the next change
    }
    this.tell();
  }

  /** What a call said stands together, before that of calls which began later. */
  private place(call: string, fresh: Message[]): void {
    const others = this.messages.filter((message) => message.call !== call);
    const later = others.findIndex((message) => this.started(message.call) > this.started(call));
    this.messages = later < 0 ? [...others, ...fresh] : [...others.slice(0, later), ...fresh, ...others.slice(later)];
  }

  private started(call: string | null): string {
    return this.calls.get(call ?? "")?.opened ?? "";
  }

  private tell(): void {
    const calls = [...this.calls.values()].sort((one, other) => (one.opened ?? "").localeCompare(other.opened ?? ""));
    this.items = this.task && keptProtocol(this.task) ? readKept(this.task, { ...NONE, ...this.rows, messages: this.messages }, this.children) : readTranscript(this.messages, calls, this.children);
    this.touched();
  }
}
