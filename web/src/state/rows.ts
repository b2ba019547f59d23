/** From a tree to the rows that are shown: what is folded, what a filter keeps, what many alike become. */
import { isDone, isFailed } from "./status";
import type { Node, Tree } from "./tree";

export interface Folding {
  /** Collapsed below this depth; null is nothing. */
  below: number | null;
  /** Ids that are the other way round. */
  toggled: ReadonlySet<string>;
  focus: string | null;
  words: string;
}

export interface TaskRow {
  kind: "task";
  id: string;
  node: Node;
  depth: number;
  open: boolean;
  hit: boolean;
  position: number;
  siblings: number;
  loose: boolean;
}

/** Many siblings of one kind, in one line. */
export interface FoldRow {
  kind: "fold";
  id: string;
  agent: string;
  nodes: Node[];
  depth: number;
  open: boolean;
  position: number;
  siblings: number;
}

export type Row = TaskRow | FoldRow;

export const MANY_ALIKE = 12;
export const HUGE = 50_000;

export function visibleRows(tree: Tree, folding: Folding): Row[] {
  const focus = folding.focus ? tree.nodes.get(folding.focus) : undefined;
  const kept = folding.words ? hits(tree, folding.words) : null;
  const rows: Row[] = [];
  const drawing = new Rows(rows, folding, kept);
  drawing.group(focus ? [focus] : tree.roots, 0, "", false);
  if (!focus) drawing.group(tree.unattached, 0, "", true);
  return rows;
}

class Rows {
  constructor(
    private readonly rows: Row[],
    private readonly folding: Folding,
    private readonly kept: Map<string, boolean> | null,
  ) {}

  /** Recursion goes as deep as agents call agents; groups are loops. */
  group(nodes: Node[], depth: number, parent: string, loose: boolean): void {
    if (!this.kept && nodes.length <= MANY_ALIKE) {
      for (let at = 0; at < nodes.length; at += 1) this.task(nodes[at] as Node, depth, at, nodes.length, loose);
      return;
    }
    const shown = this.kept ? nodes.filter((node) => this.kept?.has(node.id)) : nodes;
    const alike = this.kept ? new Map<string, Node[]>() : manyAlike(shown);
    const done = new Set<string>();
    shown.forEach((node, at) => {
      const fold = alike.get(node.agent);
      if (!fold) this.task(node, depth, at, shown.length, loose);
      else if (!done.has(node.agent)) this.fold(fold, depth, parent, at, shown.length);
      done.add(node.agent);
    });
  }

  private task(node: Node, depth: number, at: number, siblings: number, loose: boolean): void {
    const folded = this.folding.below !== null && depth >= this.folding.below;
    const open = node.children.length > 0 && (this.kept !== null || folded === this.folding.toggled.has(node.id));
    const hit = this.kept?.get(node.id) ?? false;
    this.rows.push({ kind: "task", id: node.id, node, depth, open, hit, position: at + 1, siblings, loose });
    if (open) this.group(node.children, depth + 1, node.id, false);
  }

  private fold(nodes: Node[], depth: number, parent: string, at: number, siblings: number): void {
    const id = `${parent}~${nodes[0]?.agent ?? ""}`;
    const open = this.folding.toggled.has(id);
    this.rows.push({ kind: "fold", id, agent: nodes[0]?.agent ?? "", nodes, depth, open, position: at + 1, siblings });
    if (!open) return;
    const ordered = [...nodes].sort((one, other) => Number(isFailed(other.status)) - Number(isFailed(one.status)));
    ordered.forEach((node, index) => this.task(node, depth + 1, index, ordered.length, false));
  }
}

export function tally(nodes: Node[]): { done: number; failed: number } {
  return { done: nodes.filter((node) => isDone(node.status)).length, failed: nodes.filter((node) => isFailed(node.status)).length };
}

function manyAlike(nodes: Node[]): Map<string, Node[]> {
  const groups = new Map<string, Node[]>();
  for (const node of nodes) {
    if (!node.agent) continue;
    const group = groups.get(node.agent);
    if (group) group.push(node);
    else groups.set(node.agent, [node]);
  }
  return new Map([...groups].filter(([, group]) => group.length > MANY_ALIKE));
}

/** Hits, and their ancestors so that they stay where they are: true for a hit itself. */
export function hits(tree: Tree, words: string): Map<string, boolean> {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const kept = new Map<string, boolean>();
  for (const node of tree.nodes.values()) {
    const text = `${node.title} ${node.agent} ${node.status} ${node.id} ${node.flags.join(" ")}`.toLowerCase();
    if (!wanted.every((word) => text.includes(word))) continue;
    kept.set(node.id, true);
    for (let up = node.parent ? tree.nodes.get(node.parent) : undefined; up && !kept.has(up.id); up = up.parent ? tree.nodes.get(up.parent) : undefined) {
      kept.set(up.id, false);
    }
  }
  return kept;
}

/** Where the row under the reader's eye went, so that it can stay where it is on the screen. */
export function indexOf(rows: Row[], id: string | null): number {
  return id === null ? -1 : rows.findIndex((row) => row.id === id);
}
