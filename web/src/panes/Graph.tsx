/** Who gave work to whom, drawn as boxes and lines: solid where stated, dashed where inferred. */
import { useMemo, useState } from "react";
import { money } from "../state/format";
import type { Placed, Viewport } from "../state/graph";
import { BOX, inView, place } from "../state/graph";
import type { Run } from "../state/run";
import { certaintyOf, look } from "../state/status";
import { NO_PROMPT } from "../state/sources";
import { firstLine } from "../state/text";
import { tally } from "../state/rows";
import { TaskTip } from "../ui/Tip";
import { useSize, useStore } from "../ui/hooks";
import { taskView, useNavigation } from "../ui/navigation";
import { Filter } from "./Filter";
import { useRows } from "./useRows";

const MARGIN = 24;

export function Graph({ run }: { run: Run }) {
  useStore(run);
  const { go } = useNavigation();
  const { rows, active, select, fold, tip, setTip } = useRows(run);
  const [box, size] = useSize<HTMLDivElement>();
  const [scroll, move] = useState({ x: 0, y: 0 });
  const picture = useMemo(() => place(rows), [rows]);
  const view: Viewport = { x: scroll.x - MARGIN, y: scroll.y - MARGIN, width: size.width || 1200, height: size.height || 800 };
  const seen = inView(picture, view);
  return (
    <section className="pane graph-pane" aria-label="graph">
      <Filter shown={rows.length} all={run.tree?.nodes.size ?? 0} depths />
      <div ref={box} className="graph" tabIndex={0} onScroll={(event) => move({ x: event.currentTarget.scrollLeft, y: event.currentTarget.scrollTop })}>
        <svg width={picture.width + 2 * MARGIN} height={picture.height + 2 * MARGIN} role="tree" aria-label="graph of this run">
          <g transform={`translate(${MARGIN} ${MARGIN})`}>
            {seen.edges.map((edge) => (
              <path key={edge.to.row.id} className={`edge ${edgeKind(edge.to)}`} d={curve(edge.from, edge.to)} />
            ))}
            {seen.boxes.map((one) => (
              <Box
                key={one.row.id}
                placed={one}
                selected={one.row.id === active}
                onClick={() => (one.row.kind === "fold" ? fold(one.row) : select(one.row))}
                onOpen={() => one.row.kind === "task" && go(taskView(one.row.id))}
                onRest={(x, y) => setTip(one.row.kind === "task" && x ? { id: one.row.id, x, y } : null)}
              />
            ))}
          </g>
        </svg>
      </div>
      <TaskTip near={tip} />
    </section>
  );
}

const edgeKind = ({ row }: Placed) => (row.kind === "task" ? certaintyOf(row.node.certainty, row.node.rule) : "stated");

function curve(from: Placed, to: Placed): string {
  const [x, y] = [from.x + BOX.width, from.y + BOX.height / 2];
  const [toX, toY] = [to.x, to.y + BOX.height / 2];
  const middle = (x + toX) / 2;
  return `M${x} ${y}C${middle} ${y} ${middle} ${toY} ${toX} ${toY}`;
}

interface BoxProperties {
  placed: Placed;
  selected: boolean;
  onClick: () => void;
  onOpen: () => void;
  onRest: (x: number, y: number) => void;
}

function Box({ placed, selected, onClick, onOpen, onRest }: BoxProperties) {
  const { row, x, y } = placed;
  const { done, failed } = tally(row.kind === "fold" ? row.nodes : []);
  const status = row.kind === "fold" ? (failed ? "failed" : done < row.nodes.length ? "working" : "completed") : row.node.status;
  const title = row.kind === "fold" ? `${row.agent} × ${row.nodes.length}` : row.node.title || NO_PROMPT;
  const under = row.kind === "fold" ? `${done} of ${row.nodes.length} ended` : [status, row.node.agent, money(row.node.cost)].filter(Boolean).join(" · ");
  return (
    <g
      transform={`translate(${x} ${y})`}
      role="treeitem"
      aria-level={row.depth + 1}
      aria-selected={selected}
      className={`box ${look(status)}${selected ? " selected" : ""}${row.depth ? " sub" : ""}`}
      onClick={onClick}
      onDoubleClick={onOpen}
      onPointerEnter={(event) => onRest(event.clientX, event.clientY)}
      onPointerLeave={() => onRest(0, 0)}
    >
      <rect width={BOX.width} height={BOX.height} rx="6" />
      <rect className="stripe" width="4" height={BOX.height} rx="2" />
      <text x="14" y="18">
        {firstLine(title, 29)}
      </text>
      <text x="14" y="34" className="under">
        {firstLine(under, 33)}
      </text>
    </g>
  );
}
