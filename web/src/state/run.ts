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
const WHOLE_TITLE = 48; // longer ones are always cut in a tree
const MOST_TITLES = 100;
const LOOKED = 150; // milliseconds: who scrolls on does not look
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
  private asked = new Set<string>();
  private wanted: string[] = [];
  private asking: ReturnType<typeof setTimeout> | null = null;
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

  /** While somebody forgets it nothing is asked: the answer would only be that it is gone. Gives what ends the rest. */
  rest(): () => void {
    this.leave?.();
    return () => {
      this.leave = this.feed.listen(this);
      void this.load();
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
      this.asked.clear();
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

  /** Titles of very many tasks come cut; those that somebody looks at are asked for in full, a little later. */
  look(ids: string[]): void {
    const { tree } = this;
    if (!tree || tree.longest >= WHOLE_TITLE) return;
    const cut = ids.filter((id) => !this.asked.has(id) && (tree.nodes.get(id)?.title.length ?? 0) >= tree.longest);
    this.wanted = cut.slice(0, MOST_TITLES);
    if (cut.length) this.asking ??= setTimeout(() => void this.askTitles(), LOOKED);
  }

  private async askTitles(): Promise<void> {
    this.asking = null;
    const ids = this.wanted;
    for (const id of ids) this.asked.add(id);
    const answer = await api.titles(ids).catch(() => null);
    if (!answer) for (const id of ids) this.asked.delete(id); // asked again when they are looked at again
    for (const { id, title } of answer?.items ?? []) {
      const node = this.tree?.nodes.get(id);
      if (node) node.title = title;
    }
    if (answer) this.touched();
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
