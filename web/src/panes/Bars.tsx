/** A task as a bar on an axis of time: solid where it works itself, light where it waits for others. */
import type { Segment } from "../state/critical";
import { endOf } from "../state/critical";
import { look } from "../state/status";
import type { Window } from "../state/timeline";
import { bar, union } from "../state/timeline";
import type { Node } from "../state/tree";
import { Elapsed } from "./TaskRow";

interface BarProperties {
  node: Node;
  window: Window;
  now: number;
  thin?: boolean;
  words?: boolean;
}

export function Bar({ node, window, now, thin = false, words = !thin }: BarProperties) {
  const place = bar(node.start, endOf(node, now), window);
  if (!place) return null;
  const own = { from: node.start, to: node.end ?? now };
  const waits = union(node.children.flatMap((child) => bar(Math.max(child.start, own.from), Math.min(endOf(child, now), own.to), window) ?? []));
  return (
    <>
      <i className={`bar ${look(node.status)}${thin ? " thin" : ""}`} style={{ left: `${place.left}%`, width: `${place.width}%` }} />
      {!thin && waits.slice(0, 50).map((one) => <i key={one.left} className="bar waits" style={{ left: `${one.left}%`, width: `${one.width}%` }} />)}
      {words && (
        <span className="bar-words" style={place.left + place.width > 80 ? { right: `${100 - place.left}%` } : { left: `${place.left + place.width}%` }}>
          <Elapsed node={node} />
        </span>
      )}
    </>
  );
}

/** The parts of the critical path that these tasks are. */
export function CriticalBars({ path, nodes, window }: { path: Segment[] | null; nodes: Node[]; window: Window }) {
  const own = (path ?? []).filter((segment) => nodes.includes(segment.node));
  return own.slice(0, 200).map((segment) => {
    const place = bar(segment.from, segment.to, window);
    return place && <i key={segment.from} className="bar critical" style={{ left: `${place.left}%`, width: `${place.width}%` }} />;
  });
}
