/** Who waits for whom, and what stands still: only the deepest cause is named. */
import type { Node, Tree } from "./tree";

export const isStalled = (node: Node): boolean => node.flags.includes("stalled");

const MOST = 100; // in one question

/** Whether somebody stands still is for the server to say, and it changes without any news: these are worth asking
 * about, the most silent first. Who waits for somebody at work is not, unless it was said to stand still before. */
export function doubtful(tree: Tree): Node[] {
  const found: Node[] = [];
  const waiting = [...tree.roots, ...tree.unattached];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    if (isStalled(node) || (node.status === "working" && node.sums.working === 1)) found.push(node);
    for (const child of node.children) if (child.sums.working > 0) waiting.push(child);
  }
  return found.sort((one, other) => one.active - other.active).slice(0, MOST);
}

export interface Wait {
  node: Node;
  silent: number;
  /** Tasks above that wait for it. */
  above: number;
}

export function stalls(tree: Tree, now: number): Wait[] {
  const found: Wait[] = [];
  const waiting = tree.roots.map((node) => ({ node, above: 0 }));
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { node, above } = next;
    if (isStalled(node)) found.push({ node, silent: now - node.active, above });
    for (const child of node.children) if (child.sums.working > 0) waiting.push({ node: child, above: above + 1 });
  }
  return found.sort((one, other) => other.silent - one.silent);
}
