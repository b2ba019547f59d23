/** Who waits for whom, and what stands still: only the deepest cause is named. */
import type { Node, Tree } from "./tree";

export const SILENT = 60_000;

/** Works, has nobody working under it, and gave no sign of life for a while. */
export function isStalled(node: Node, now: number): boolean {
  return node.status === "working" && node.sums.working === 1 && now - node.active > SILENT;
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
    if (isStalled(node, now)) found.push({ node, silent: now - node.active, above });
    for (const child of node.children) if (child.sums.working > 0) waiting.push({ node: child, above: above + 1 });
  }
  return found.sort((one, other) => other.silent - one.silent);
}
