/** Who waits for whom, and what stands still: only the deepest cause is named. */
import type { Node, Tree } from "./tree";
import { walk } from "./tree";

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
  for (const root of tree.roots) {
    if (root.sums.working === 0) continue;
    for (const node of walk(root)) {
      if (!isStalled(node, now)) continue;
      let above = 0;
      for (let up = node.parent ? tree.nodes.get(node.parent) : undefined; up; up = up.parent ? tree.nodes.get(up.parent) : undefined) above += 1;
      found.push({ node, silent: now - node.active, above });
    }
  }
  return found.sort((one, other) => other.silent - one.silent);
}
