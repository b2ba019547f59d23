/** A person's corrections: what is chosen to be moved, what that would do, and how it is taken back. */
import type { Move, Preview } from "../api/types.gen";
import { count, money } from "./format";
import { firstLine } from "./text";
import type { Node, Tree } from "./tree";

export interface Acts {
  link(child: string, parent: string): Promise<unknown>;
  unlink(child: string): Promise<unknown>;
  withdraw(child: string): Promise<unknown>;
}

export interface Moved {
  words: string;
  moves: Move[];
}

export const going = (preview: Preview): Move[] => preview.moves.filter((move) => move.refused === null);

/** "2 tasks with what is under them, 5 in all, $0.12, from A to B" */
export function told(preview: Preview): string {
  const moves = going(preview);
  const more = preview.tasks > moves.length ? ` with what is under ${moves.length === 1 ? "it" : "them"}, ${count(preview.tasks, "task")} in all` : "";
  const from = [...new Set(moves.map((move) => (move.from ? named(move.from.title) : "nowhere")))];
  const origin = from.length === 1 ? ` from ${from[0]}` : "";
  const what = moves.length === 1 ? named(moves[0]?.title ?? "") : count(moves.length, "task");
  return `${what}${more}, ${money(preview.usage.cost_usd)},${origin} ${preview.parent ? `to ${named(preview.parent.title)}` : "to nobody: it would stand alone"}`;
}

const named = (title: string): string => `“${firstLine(title || "prompt not seen", 60)}”`;

/** One after the other: an act that fails leaves those before it done, and says so by being thrown. */
export async function carryOut(acts: Acts, preview: Preview, done: Move[] = []): Promise<Moved> {
  for (const move of going(preview)) {
    await (preview.parent ? acts.link(move.child, preview.parent.id) : acts.unlink(move.child));
    done.push(move);
  }
  return { words: `Moved: ${told(preview)}.`, moves: done };
}

/** As it was: where a person had said something, that again; else the rules decide again. */
export async function takeBack(acts: Acts, moved: Moved): Promise<void> {
  for (const { child, before } of moved.moves.toReversed()) {
    if (!before) await acts.withdraw(child);
    else if (before.act === "link" && before.parent) await acts.link(child, before.parent);
    else await acts.unlink(child);
  }
}

const MOST = 6;

/** Tasks that somebody may mean by these words; never those that would move. */
export function candidates(tree: Tree | null, words: string, moving: string[]): Node[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  if (!tree || !wanted.length) return [];
  const found: Node[] = [];
  for (const node of tree.nodes.values()) {
    if (moving.includes(node.id)) continue;
    const text = `${node.title} ${node.agent}`.toLowerCase();
    if (wanted.every((word) => text.includes(word))) found.push(node);
    if (found.length === MOST) break;
  }
  return found;
}
