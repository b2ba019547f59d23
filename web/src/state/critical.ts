/** The critical path: of all that went on at the same time, what the end had to wait for. */
import type { Node } from "./tree";

export interface Segment {
  node: Node;
  from: number;
  to: number;
}

export const endOf = (node: Node, now: number): number => node.end ?? (node.status === "working" ? now : node.active);

/** Backwards from the end: a task works itself until the last of its children was done, then that child did, and so on.
 * Of children side by side only the one that ended last counts. Without recursion, for chains can be long. */
export function criticalPath(root: Node, now: number): Segment[] {
  const found: Segment[] = [];
  const last = root.children.reduce((end, child) => Math.max(end, endOf(child, now)), endOf(root, now));
  const waiting = [{ node: root, until: last }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { node, until } = next;
    let at = until;
    const ended = node.children.map((child) => ({ child, end: endOf(child, now) })).sort((one, other) => other.end - one.end);
    for (const { child, end } of ended) {
      if (end > at || child.start >= at || end <= child.start) continue;
      own(found, node, end, at, now);
      waiting.push({ node: child, until: end });
      at = child.start;
    }
    own(found, node, node.start, at, now);
  }
  return found.sort((one, other) => one.from - other.from);
}

/** What a task did itself; it did nothing before it began or after it was over. */
function own(found: Segment[], node: Node, from: number, to: number, now: number): void {
  const [start, end] = [Math.max(from, node.start), Math.min(to, endOf(node, now))];
  if (end > start) found.push({ node, from: start, to: end });
}

/** How much of the path each task is, most first. */
export function shares(path: Segment[]): { node: Node; ms: number }[] {
  const sums = new Map<Node, number>();
  for (const { node, from, to } of path) sums.set(node, (sums.get(node) ?? 0) + to - from);
  return [...sums].map(([node, ms]) => ({ node, ms })).sort((one, other) => other.ms - one.ms);
}
