/** One lane for each agent: who worked when, who gave work to whom, and when it came back. */
import { useMemo, useRef, useState } from "react";
import type { Segment } from "../state/critical";
import { firstLine } from "../state/text";
import { duration } from "../state/format";
import type { Arrow, Lane } from "../state/lanes";
import { arrowsBetween, lanesOf } from "../state/lanes";
import { NO_PROMPT } from "../state/sources";
import type { Window } from "../state/timeline";
import { bar } from "../state/timeline";
import type { Node, Tree } from "../state/tree";
import { Flags, Status } from "../ui/Marks";
import type { TipTarget } from "../ui/Tip";
import { TaskTip } from "../ui/Tip";
import type { VirtualHandle } from "../ui/Virtual";
import { Virtual, rowId } from "../ui/Virtual";
import { useKeys } from "../ui/keyboard";
import { taskView, useNavigation } from "../ui/navigation";
import { Bar, CriticalBars } from "./Bars";
import { ROW } from "./TaskTree";

interface Properties {
  tree: Tree;
  version: number;
  window: Window;
  now: number;
  path: Segment[] | null;
}

export function Lanes({ tree, version, window, now, path }: Properties) {
  const { view, adjust, go } = useNavigation();
  const handle = useRef<VirtualHandle>(null);
  const [tip, setTip] = useState<TipTarget | null>(null);
  const { lanes, arrows } = useMemo(() => lanesOf(tree, now), [tree, version, now]);
  const ids = useMemo(() => lanes.map((lane) => lane.id), [lanes]);
  const selected = view.selected?.startsWith("task:") ? view.selected.slice(5) : null;
  const at = lanes.findIndex((lane) => lane.nodes.some((node) => node.id === selected));
  const select = (index: number) => {
    const lane = lanes[index];
    if (!lane) return;
    adjust({ selected: `task:${lane.id}` });
    handle.current?.reveal(index);
  };
  useKeys({
    next: () => select(Math.min(at + 1, lanes.length - 1)),
    previous: () => select(Math.max(at - 1, 0)),
    open: () => selected && go(taskView(selected)),
  });
  return (
    <>
      <Virtual
        label="lanes of this run"
        role="tree"
        ids={ids}
        height={ROW}
        active={lanes[at]?.id ?? null}
        handle={handle}
        over={(first, last) => <Arrows arrows={arrowsBetween(arrows, first, last)} window={window} height={lanes.length * ROW} />}
        draw={(index) => {
          const lane = lanes[index];
          if (!lane) return null;
          return (
            <div
              key={lane.id}
              id={rowId(lane.id)}
              role="treeitem"
              aria-level={1}
              aria-posinset={index + 1}
              aria-setsize={lanes.length}
              aria-selected={index === at}
              className={`row lane${index === at ? " selected" : ""}`}
              onClick={() => adjust({ selected: `task:${lane.id}` })}
              onDoubleClick={() => go(taskView(lane.id))}
              onPointerEnter={(event) => setTip({ id: lane.id, x: event.clientX, y: event.clientY })}
              onPointerLeave={() => setTip(null)}
            >
              <LaneWords lane={lane} tree={tree} />
              <span className="tail">
                <span className="bars">
                  {lane.nodes.map((node) => (
                    <Bar key={node.id} node={node} window={window} now={now} words={lane.nodes.length === 1} />
                  ))}
                  <CriticalBars path={path} nodes={lane.nodes} window={window} />
                </span>
              </span>
            </div>
          );
        }}
      />
      <TaskTip near={tip} />
    </>
  );
}

function LaneWords({ lane, tree }: { lane: Lane; tree: Tree }) {
  const node = lane.nodes.at(-1) as Node;
  const main = tree.roots.includes(node);
  const above = node.parent ? tree.nodes.get(node.parent) : undefined;
  return (
    <>
      <Status status={node.status} />
      <span className="title">
        <span className="agent">{main ? "main" : firstLine(node.agent, 30)}</span>
        {lane.nodes.length > 1 ? `${lane.nodes.length} prompts` : firstLine(node.title) || <em>{NO_PROMPT}</em>}
      </span>
      <Flags flags={node.flags} />
      {above && (
        <span className="unseen">
          asked by {firstLine(above.title || NO_PROMPT, 60)} after {duration(node.start - above.start)}
        </span>
      )}
    </>
  );
}

const MIDDLE = ROW / 2;

/** In the scale of the bars: across in per cent, down in pixels. */
function Arrows({ arrows, window, height }: { arrows: Arrow[]; window: Window; height: number }) {
  return (
    <svg className="arrows" height={height} aria-hidden="true">
      {arrows.map((arrow) => {
        const place = bar(arrow.at, arrow.at, window);
        if (!place) return null;
        const [from, to] = [arrow.from * ROW + MIDDLE, arrow.to * ROW + MIDDLE];
        const tip = to > from ? -1 : 1;
        return (
          <g key={`${arrow.kind}${arrow.from}-${arrow.to}-${arrow.at}`} className={`${arrow.kind}${arrow.certainty !== null && arrow.certainty < 1 ? " inferred" : ""}`}>
            <line x1={`${place.left}%`} x2={`${place.left}%`} y1={from} y2={to + tip * 6} />
            <svg x={`${place.left}%`} y={to + tip * 6} overflow="visible">
              <path d={`M-3.5 ${tip * 6} L0 0 L3.5 ${tip * 6} Z`} />
            </svg>
          </g>
        );
      })}
    </svg>
  );
}
