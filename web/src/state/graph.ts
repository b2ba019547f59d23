/** A tidy tree, left to right: leaves take lines one after the other, parents stand in the middle of theirs. */
import type { Folding, Row } from "./rows";
import { visibleRows } from "./rows";
import type { Tree } from "./tree";

export const BOX = { width: 226, height: 44, across: 284, down: 56 };

export interface Placed {
  row: Row;
  x: number;
  y: number;
}

export interface Edge {
  from: Placed;
  to: Placed;
}

export interface Picture {
  boxes: Placed[];
  edges: Edge[];
  width: number;
  height: number;
}

export function layout(tree: Tree, folding: Folding): Picture {
  return place(visibleRows(tree, folding));
}

/** Rows in pre-order with their depth are enough: a row's children are those behind it that are one deeper. */
export function place(rows: Row[]): Picture {
  const boxes: Placed[] = rows.map((row) => ({ row, x: row.depth * BOX.across, y: 0 }));
  const edges: Edge[] = [];
  const path: Placed[] = [];
  let line = 0;
  boxes.forEach((box, at) => {
    path.length = box.row.depth;
    const parent = path[box.row.depth - 1];
    if (parent) edges.push({ from: parent, to: box });
    path.push(box);
    const next = rows[at + 1];
    if (!next || next.depth <= box.row.depth) {
      box.y = line * BOX.down;
      line += 1;
    }
  });
  centre(boxes);
  const deepest = Math.max(0, ...rows.map((row) => row.depth));
  return { boxes, edges, width: deepest * BOX.across + BOX.width, height: Math.max(line, 1) * BOX.down };
}

/** From the last row to the first: when a parent is met, all of its children have their place. */
function centre(boxes: Placed[]): void {
  const spans = new Map<number, { first: number; last: number }>();
  for (let at = boxes.length - 1; at >= 0; at -= 1) {
    const box = boxes[at] as Placed;
    const below = spans.get(box.row.depth + 1);
    if (below) box.y = (below.first + below.last) / 2;
    spans.delete(box.row.depth + 1);
    const own = spans.get(box.row.depth);
    spans.set(box.row.depth, { first: box.y, last: own?.last ?? box.y });
  }
}

export interface Viewport {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Only what is in view is drawn. */
export function inView(picture: Picture, view: Viewport): Picture {
  const near = (box: Placed) =>
    box.x + BOX.width > view.x - 100 && box.x < view.x + view.width + 100 && box.y + BOX.height > view.y - 100 && box.y < view.y + view.height + 100;
  const crosses = (edge: Edge) => {
    const top = Math.min(edge.from.y, edge.to.y);
    const bottom = Math.max(edge.from.y, edge.to.y) + BOX.height;
    return edge.to.x + BOX.width > view.x && edge.from.x < view.x + view.width && bottom > view.y && top < view.y + view.height;
  };
  return { ...picture, boxes: picture.boxes.filter(near), edges: picture.edges.filter(crosses) };
}
