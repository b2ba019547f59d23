/** One run on the page: a snapshot of its tree, then only what changes. */
import type { Subject } from "../api/client";
import { ApiError, api } from "../api/client";
import type { Feed, Listener } from "../api/live";
import type { Change } from "../api/types.gen";
import type { Moved } from "./moving";
import { FrameQueue, Observable } from "./store";
import type { Tree } from "./tree";
import { applyChange, buildTree, sumUp } from "./tree";
import { doubtful } from "./waits";

const ASKED_AGAIN = 5_000; // milliseconds between two questions about who stands still
const SELDOM = 500; // milliseconds between two drawings for a page that is behind

export type Heard = (change: Change) => void;

export class Run extends Observable implements Listener {
  tree: Tree | null = null;
  error: ApiError | null = null;
  reloadedAt: number | null = null;
  paused = false;
  /** Changes that arrived while the reader held the page still. */
  held: Change[] = [];
  /** Rows that a person chose, and the last that was done with them. */
  marked: ReadonlySet<string> = new Set();
  moved: Moved | null = null;
  private dirty = false;
  private drawnAt = 0;
  private leave: (() => void) | null = null;
  private readonly heard = new Set<Heard>();
  private readonly queue = new FrameQueue<Change>(
    (change) => this.apply(change),
    (waiting) => this.settled(waiting),
    () => void this.load(),
  );

  constructor(
    readonly subject: Subject,
    readonly id: string,
    private readonly feed: Feed,
  ) {
    super();
  }

  open(): () => void {
    this.leave = this.feed.listen(this);
    void this.load();
    const asking = setInterval(() => void this.askFlags(), ASKED_AGAIN);
    return () => {
      clearInterval(asking);
      this.leave?.();
    };
  }

  /** Told of every change of a call or tool, for panes that show more than the tree. */
  hear(listener: Heard): () => void {
    this.heard.add(listener);
    return () => this.heard.delete(listener);
  }

  async load(): Promise<void> {
    try {
      const asked = api.skeleton(this.subject, this.id);
      this.feed.start(asked.then(({ seq }) => seq, () => 0));
      const skeleton = await asked;
      const missed = this.feed.after(skeleton.seq);
      if (missed === null) return await this.load();
      const again = this.tree !== null;
      this.queue.clear();
      this.tree = buildTree(skeleton, this.subject === "conversation" ? this.id : null);
      this.error = null;
      if (again) this.reloadedAt = Date.now();
      for (const batch of missed) this.queue.add(batch.changes);
    } catch (error) {
      this.error = error instanceof ApiError ? error : new ApiError(0, "bug", String(error), "This is our bug");
    }
    this.touched();
  }

  changed(_seq: number, changes: Change[]): void {
    if (this.paused) {
      this.held.push(...changes);
      this.touched();
    } else this.queue.add(changes);
  }

  hold(still: boolean): void {
    this.paused = still;
    if (!still) this.queue.add(this.held.splice(0));
    this.touched();
  }

  mark(id: string): void {
    const marked = new Set(this.marked);
    if (!marked.delete(id)) marked.add(id);
    this.marked = marked;
    this.touched();
  }

  unmarkAll(): void {
    this.marked = new Set();
    this.touched();
  }

  keepMoved(moved: Moved | null): void {
    this.moved = moved;
    this.unmarkAll();
  }

  restart(): void {
    void this.load();
  }

  /** The clock alone can change a flag; a question that fails is asked again the next time. */
  async askFlags(): Promise<void> {
    const nodes = this.tree && !this.paused ? doubtful(this.tree) : [];
    if (!nodes.length) return;
    const answer = await api.tasks(nodes.map((node) => node.id)).catch(() => null);
    let moved = false;
    for (const task of answer?.items ?? []) {
      const node = this.tree?.nodes.get(task.id);
      if (!node || node.flags.join() === task.flags.join()) continue;
      node.flags = task.flags;
      moved = true;
    }
    if (moved) this.touched();
  }

  private apply(change: Change): void {
    for (const listener of this.heard) listener(change);
    if (this.tree && applyChange(this.tree, change)) this.dirty = true;
    else if (change.call?.task) this.sign(change.call.task);
  }

  /** A call of a task that works is a sign of life. */
  private sign(task: string): void {
    const node = this.tree?.nodes.get(task);
    if (node) node.active = Date.now();
  }

  private settled(waiting: number): void {
    this.feed.fellBehind(waiting);
    if (!this.dirty || !this.tree) return;
    // While more waits than a frame can take, drawing is what has to wait: data does not.
    if (waiting > 0 && performance.now() - this.drawnAt < SELDOM) return;
    this.dirty = false;
    this.drawnAt = performance.now();
    sumUp(this.tree);
    this.touched();
  }
}
