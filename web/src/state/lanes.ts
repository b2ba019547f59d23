/** One lane for each agent, in the order in which they were started; arrows where work was given and where it came back. */
import { endOf } from "./critical";
import type { Node, Tree } from "./tree";
import { walk } from "./tree";

export interface Lane {
  id: string;
  /** The main agent answers one prompt after the other; every other has one task. */
  nodes: Node[];
}

export interface Arrow {
  kind: "given" | "returned";
  from: number;
  to: number;
  at: number; // milliseconds since 1970
  certainty: number | null;
}

export interface Lanes {
  lanes: Lane[];
  arrows: Arrow[];
}

export function lanesOf(tree: Tree, now: number): Lanes {
  const lanes = order(tree);
  const place = new Map(lanes.flatMap((lane, at) => lane.nodes.map((node) => [node.id, at] as const)));
  const arrows = lanes.flatMap((lane) => lane.nodes.flatMap((node) => arrowsOf(node, place, now)));
  return { lanes, arrows };
}

function order(tree: Tree): Lane[] {
  const main: Lane[] = tree.roots.length ? [{ id: tree.roots[0]?.id ?? "", nodes: tree.roots }] : [];
  const roots = new Set(tree.roots);
  const others = [...tree.roots, ...tree.unattached].flatMap((root) => [...walk(root)].filter((node) => !roots.has(node)));
  others.sort((one, other) => one.start - other.start);
  return [...main, ...others.map((node) => ({ id: node.id, nodes: [node] }))];
}

function arrowsOf(node: Node, place: Map<string, number>, now: number): Arrow[] {
  const above = node.parent === null ? undefined : place.get(node.parent);
  const own = place.get(node.id);
  if (above === undefined || own === undefined) return [];
  const given: Arrow = { kind: "given", from: above, to: own, at: node.start, certainty: node.certainty };
  return node.status === "working" ? [given] : [given, { ...given, kind: "returned", from: own, to: above, at: endOf(node, now) }];
}

const MOST = 400;

/** Those that can be seen between two lanes; of very many, those with an end in view. */
export function arrowsBetween(arrows: Arrow[], first: number, last: number): Arrow[] {
  const crossing = arrows.filter(({ from, to }) => Math.min(from, to) < last && Math.max(from, to) >= first);
  if (crossing.length <= MOST) return crossing;
  return crossing.filter(({ from, to }) => [from, to].every((at) => at >= first && at < last)).slice(0, MOST);
}
