/** State that lives outside React: changed by anyone, drawn when its number moves. */

export class Observable {
  private number = 0;
  private readonly watchers = new Set<() => void>();

  subscribe = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  version = (): number => this.number;

  protected touched(): void {
    this.number += 1;
    for (const watcher of this.watchers) watcher();
  }
}

export type Schedule = (work: () => void) => void;

const BUDGET = 8;
export const TOO_MANY = 20_000;

/** Changes are gathered and applied once a frame, for at most a few milliseconds; the rest waits for the next. */
export class FrameQueue<Item> {
  private items: Item[] = [];
  private planned = false;

  constructor(
    private readonly apply: (item: Item) => void,
    private readonly settled: (waiting: number) => void,
    private readonly overflow: () => void,
    private readonly schedule: Schedule = (work) => void requestAnimationFrame(work),
    private readonly now: () => number = () => performance.now(),
  ) {}

  add(items: Item[]): void {
    for (const item of items) this.items.push(item);
    if (this.items.length > TOO_MANY) {
      this.items = [];
      this.overflow();
      return;
    }
    if (!this.planned && this.items.length) {
      this.planned = true;
      this.schedule(this.frame);
    }
  }

  clear(): void {
    this.items = [];
  }

  private frame = (): void => {
    this.planned = false;
    const end = this.now() + BUDGET;
    let at = 0;
    while (at < this.items.length && (at % 64 !== 0 || this.now() < end || at === 0)) {
      this.apply(this.items[at] as Item);
      at += 1;
    }
    this.items = this.items.slice(at);
    this.settled(this.items.length);
    if (this.items.length) {
      this.planned = true;
      this.schedule(this.frame);
    }
  };
}
