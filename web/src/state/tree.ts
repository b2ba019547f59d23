/** The tree of one run: built from columns, then changed in place by what the live feed brings. No React in here. */
import type { Change, Columns, Skeleton, Task } from "../api/types.gen";
import { allTokens } from "./format";
import { LETTERS, isDone, isFailed } from "./status";

export interface Node {
  id: string;
  parent: string | null;
  title: string;
  agent: string;
  status: string;
  start: number; // milliseconds since 1970
  end: number | null;
  active: number;
  calls: number;
  tools: number;
  tokens: number;
  cost: number | null;
  certainty: number | null;
  rule: string | null;
  via: string | null;
  flags: string[];
  children: Node[];
  sums: Sums;
}

export interface Sums {
  tasks: number;
  done: number;
  working: number;
  failed: number;
  calls: number;
  tools: number;
  tokens: number;
  cost: number | null; // null where some call has no known price
  end: number;
}

export interface Tree {
  nodes: Map<string, Node>;
  roots: Node[];
  unattached: Node[];
  /** Tasks whose parent was named but has not come yet, by that parent. */
  waiting: Map<string, Node[]>;
  /** A tree of one task takes in what hangs under it; one of a conversation also takes new roots of its own. */
  conversation: string | null;
  /** Nodes whose sums are no longer true, always with everything above them. */
  stale: Set<Node>;
  /** Titles of this length were cut, because there are very many. */
  longest: number;
  /** Moves when rows come, go or change places; not when only their figures do. */
  shape: number;
}

const NO_SUMS: Sums = { tasks: 0, done: 0, working: 0, failed: 0, calls: 0, tools: 0, tokens: 0, cost: 0, end: 0 };

export function buildTree(skeleton: Skeleton, conversation: string | null): Tree {
  const base = skeleton.base ? Date.parse(skeleton.base) : 0;
  const nodes = new Map<string, Node>();
  const read = (columns: Columns) => readColumns(columns, skeleton.agents, base, nodes);
  return { nodes, roots: read(skeleton.rows), unattached: read(skeleton.unattached), waiting: new Map(), conversation, stale: new Set(), longest: skeleton.longest, shape: 0 };
}

function readColumns(columns: Columns, agents: string[], base: number, nodes: Map<string, Node>): Node[] {
  const active = new Map(columns.open.map((row, at) => [row, base + (columns.active[at] ?? 0)]));
  const roots: Node[] = [];
  const path: Node[] = [];
  const order: Node[] = [];
  for (let at = 0; at < columns.id.length; at += 1) {
    const depth = columns.depth[at] ?? 0;
    const node = readRow(columns, at, agents, base);
    node.active = active.get(at) ?? node.end ?? node.start;
    path.length = depth;
    const parent = path[depth - 1];
    node.parent = parent?.id ?? null;
    (parent ? parent.children : roots).push(node);
    path.push(node);
    order.push(node);
    nodes.set(node.id, node);
  }
  for (let at = order.length - 1; at >= 0; at -= 1) sumNode(order[at] as Node);
  return roots;
}

function readRow(columns: Columns, at: number, agents: string[], base: number): Node {
  const start = base + (columns.start[at] ?? 0);
  const ms = columns.ms[at] ?? null;
  return {
    id: columns.id[at] ?? "",
    parent: null,
    title: columns.title[at] ?? "",
    agent: agents[columns.agent[at] ?? -1] ?? "",
    status: LETTERS[columns.status[at] ?? "u"] ?? "unknown",
    start,
    end: ms === null ? null : start + ms,
    active: start,
    calls: columns.calls[at] ?? 0,
    tools: columns.tools[at] ?? 0,
    tokens: (columns.input[at] ?? 0) + (columns.output[at] ?? 0) + (columns.cached[at] ?? 0),
    cost: columns.cost[at] ?? null,
    certainty: columns.certainty[at] ?? null,
    rule: null,
    via: null,
    flags: columns.flags[at] ?? [],
    children: [],
    sums: NO_SUMS,
  };
}

export function nodeOf(task: Task): Node {
  const start = task.opened ? Date.parse(task.opened) : Date.now();
  return {
    id: task.id,
    parent: task.parent ?? null,
    title: task.title ?? "",
    agent: task.agent_type ?? task.agent ?? "",
    status: task.status,
    start,
    end: task.closed ? Date.parse(task.closed) : null,
    active: Date.now(),
    calls: task.usage.calls,
    tools: task.tool_calls,
    tokens: allTokens(task.usage),
    cost: task.usage.cost_usd,
    certainty: task.link?.certainty ?? null,
    rule: task.link?.rule ?? null,
    via: task.link?.via ?? null,
    flags: task.flags,
    children: [],
    sums: NO_SUMS,
  };
}

/** Takes in what changed; says whether anything in this tree did. Call `sumUp` when a batch is through. */
export function applyChange(tree: Tree, change: Change): boolean {
  if (change.task) return applyTask(tree, change.task);
  if (change.gone?.kind === "task") return remove(tree, change.gone.id);
  return false;
}

function applyTask(tree: Tree, task: Task): boolean {
  const known = tree.nodes.get(task.id);
  const fresh = nodeOf(task);
  if (!known) return insert(tree, fresh, task.conversation);
  const { children, sums, parent, agent } = known;
  const top = parent === null && tree.conversation === null; // the task that the page is about stays where it is
  if (!top && fresh.parent !== parent) detach(tree, known);
  Object.assign(known, fresh, { children, sums, parent: top ? null : fresh.parent });
  if (agent !== known.agent) tree.shape += 1; // many alike share a row
  if (!top && fresh.parent !== parent) move(tree, known, task.conversation);
  else outdate(tree, known);
  return true;
}

function insert(tree: Tree, node: Node, conversation: string | null): boolean {
  if (!attach(tree, node, conversation)) return false;
  adopt(tree, node);
  return true;
}

function attach(tree: Tree, node: Node, conversation: string | null): boolean {
  const parent = node.parent ? tree.nodes.get(node.parent) : undefined;
  if (parent) place(parent.children, node);
  else if (tree.conversation !== null && conversation === tree.conversation) place(isLoose(node) ? tree.unattached : tree.roots, node);
  else if (node.parent) return wait(tree, node);
  else return false;
  tree.nodes.set(node.id, node);
  outdate(tree, node);
  tree.shape += 1;
  return true;
}

/** Somebody gave it who is not known here. A run that began inside another's shell is a root of its own conversation. */
function isLoose(node: Node): boolean {
  return node.flags.includes("orphan") || (node.parent !== null && node.rule !== "same-trace");
}

/** A node that is marked has everything above it marked as well, except where it has just been hung up. */
function outdate(tree: Tree, node: Node): void {
  tree.stale.add(node);
  for (let up = above(tree, node); up && !tree.stale.has(up); up = above(tree, up)) tree.stale.add(up);
}

function above(tree: Tree, node: Node): Node | undefined {
  return node.parent ? tree.nodes.get(node.parent) : undefined;
}

function wait(tree: Tree, node: Node): boolean {
  const others = (tree.waiting.get(node.parent ?? "") ?? []).filter((other) => other.id !== node.id);
  tree.waiting.set(node.parent ?? "", [...others, node]);
  return false;
}

/** Children that came before their parent. */
function adopt(tree: Tree, parent: Node): void {
  const strays = tree.waiting.get(parent.id) ?? [];
  tree.waiting.delete(parent.id);
  const loose = tree.unattached.filter((node) => node.parent === parent.id);
  tree.unattached = tree.unattached.filter((node) => node.parent !== parent.id);
  for (const node of [...strays, ...loose]) {
    if (!tree.nodes.has(node.id) || loose.includes(node)) {
      place(parent.children, node);
      tree.nodes.set(node.id, node);
      outdate(tree, node);
      adopt(tree, node);
    }
  }
}

/** In the order of their beginning; new ones nearly always come last. */
function place(group: Node[], node: Node): void {
  let at = group.length;
  while (at > 0 && (group[at - 1]?.start ?? 0) > node.start) at -= 1;
  group.splice(at, 0, node);
}

function detach(tree: Tree, node: Node): void {
  const parent = above(tree, node);
  for (const group of [tree.roots, tree.unattached, parent?.children ?? []]) {
    const at = group.indexOf(node);
    if (at >= 0) group.splice(at, 1);
  }
  if (parent) outdate(tree, parent);
  tree.shape += 1;
}

function move(tree: Tree, node: Node, conversation: string | null): void {
  if (attach(tree, node, conversation)) return;
  forget(tree, node);
}

function forget(tree: Tree, node: Node): void {
  for (const one of walk(node)) tree.nodes.delete(one.id);
}

function remove(tree: Tree, id: string): boolean {
  const node = tree.nodes.get(id);
  if (!node) return false;
  detach(tree, node);
  forget(tree, node);
  return true;
}

/** A node and everything under it, each before its children; without recursion, for chains can be long. */
export function* walk(root: Node): Generator<Node> {
  const waiting = [root];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    yield node;
    for (let at = node.children.length - 1; at >= 0; at -= 1) waiting.push(node.children[at] as Node);
  }
}

/** Only what changed, and what stands above it. */
export function sumUp(tree: Tree): void {
  const order = [...tree.roots, ...tree.unattached].filter((node) => tree.stale.has(node));
  for (let at = 0; at < order.length; at += 1) {
    for (const child of order[at]?.children ?? []) if (tree.stale.has(child)) order.push(child);
  }
  for (let at = order.length - 1; at >= 0; at -= 1) sumNode(order[at] as Node);
  tree.stale.clear();
}

function sumNode(node: Node): void {
  const sums: Sums = {
    tasks: 1, done: isDone(node.status) ? 1 : 0, working: node.status === "working" ? 1 : 0, failed: isFailed(node.status) ? 1 : 0,
    calls: node.calls, tools: node.tools, tokens: node.tokens, cost: ownCost(node), end: node.end ?? node.active,
  };
  for (const { sums: below } of node.children) {
    sums.tasks += below.tasks;
    sums.done += below.done;
    sums.working += below.working;
    sums.failed += below.failed;
    sums.calls += below.calls;
    sums.tools += below.tools;
    sums.tokens += below.tokens;
    sums.cost = sums.cost === null || below.cost === null ? null : sums.cost + below.cost;
    sums.end = Math.max(sums.end, below.end);
  }
  node.sums = sums;
}

/** How long it took, or has taken so far. Null of what was named and never shown: nobody saw it at work. */
export function lasted(node: Node, now: number): number | null {
  if (node.end !== null) return node.end - node.start;
  if (node.status === "unknown" && node.active === node.start) return null;
  return (node.status === "working" ? now : node.active) - node.start;
}

/** Null where a call has no price. Where no call was seen there is nothing to add. */
export const ownCost = (node: Node): number | null => node.cost ?? (node.calls ? null : 0);

/** Null where nobody saw a model at work: what cannot be known is not nothing. */
export const treeCost = (node: Node): number | null => (node.sums.calls || node.sums.cost ? node.sums.cost : null);

/** What others were paid for it; null where there are others, and nobody saw a model of theirs. */
export function delegatedCost(node: Node): number | null {
  const own = ownCost(node);
  const unseen = node.sums.tasks > 1 && node.sums.calls === node.calls && node.sums.cost === own;
  return unseen || own === null || node.sums.cost === null ? null : node.sums.cost - own;
}

export function pathTo(tree: Tree, id: string): Node[] {
  const path: Node[] = [];
  for (let node = tree.nodes.get(id); node && path.length < 10_000; node = node.parent ? tree.nodes.get(node.parent) : undefined) path.unshift(node);
  return path;
}

export function span(tree: Tree): { from: number; to: number; open: boolean } {
  const tops = [...tree.roots, ...tree.unattached];
  const from = Math.min(...tops.map((node) => node.start));
  const to = Math.max(...tops.map((node) => node.sums.end));
  return { from: Number.isFinite(from) ? from : 0, to: Number.isFinite(to) ? to : 1, open: tops.some((node) => node.sums.working > 0) };
}
