/** One row of a tree: who, what, how far, how long, how much. */
import { useState } from "react";
import { duration, money } from "../state/format";
import type { Row } from "../state/rows";
import { tally } from "../state/rows";
import { certaintyOf } from "../state/status";
import { NO_PROMPT, WAITING } from "../state/sources";
import type { Node } from "../state/tree";
import { lasted, treeCost } from "../state/tree";
import { firstLine } from "../state/text";
import { CertaintyMark, Flags, Progress, Status } from "../ui/Marks";
import { rowId } from "../ui/Virtual";
import { useNow } from "../ui/hooks";
import { canOpen } from "./useRows";

interface Properties {
  row: Row;
  selected: boolean;
  /** Chosen to be moved, where rows can be. */
  marked?: boolean;
  drop?: (dragged: string, target: string) => void;
  select: (row: Row) => void;
  fold: (row: Row) => void;
  open: (id: string) => void;
  rest: (id: string | null, x: number, y: number) => void;
  /** Drawn at the end of the row: figures, or a bar. */
  tail: (row: Row) => React.ReactNode;
}

const DRAGGED = "application/x-ramify-task";

function Guides({ row }: { row: Row }) {
  const kind = row.kind === "task" ? certaintyOf(row.node.certainty, row.node.rule) : "stated";
  return (
    <span className="guides" aria-hidden="true">
      {Array.from({ length: row.depth }, (_, at) => (
        <i key={at} className={at === row.depth - 1 ? `tie ${kind}${row.position === row.siblings ? " last" : ""}` : ""} />
      ))}
    </span>
  );
}

export function TaskRow({ row, selected, marked = false, drop, select, fold, open, rest, tail }: Properties) {
  const foldable = canOpen(row);
  const [over, hover] = useState(false);
  const movable = drop !== undefined && row.kind === "task";
  return (
    <div
      id={rowId(row.id)}
      role="treeitem"
      className={`row${selected ? " selected" : ""}${marked ? " marked" : ""}${over ? " target" : ""}${row.kind === "task" && row.loose ? " loose" : ""}${row.kind === "task" && !row.hit ? "" : " hit"}`}
      aria-level={row.depth + 1}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-expanded={foldable ? row.open : undefined}
      aria-selected={selected}
      aria-checked={marked || undefined}
      draggable={movable}
      onDragStart={(event) => event.dataTransfer.setData(DRAGGED, row.id)}
      onDragOver={(event) => {
        if (!movable || !event.dataTransfer.types.includes(DRAGGED)) return;
        event.preventDefault();
        hover(true);
      }}
      onDragLeave={() => hover(false)}
      onDrop={(event) => {
        event.preventDefault();
        hover(false);
        drop?.(event.dataTransfer.getData(DRAGGED), row.id);
      }}
      onClick={() => select(row)}
      onDoubleClick={() => row.kind === "task" && open(row.id)}
      onPointerEnter={(event) => row.kind === "task" && rest(row.id, event.clientX, event.clientY)}
      onPointerLeave={() => rest(null, 0, 0)}
    >
      <Guides row={row} />
      <button
        type="button"
        className={`chevron${foldable ? "" : " none"}`}
        tabIndex={-1}
        aria-label={row.open ? "fold" : "unfold"}
        aria-hidden={!foldable}
        onClick={(event) => {
          event.stopPropagation();
          if (foldable) fold(row);
        }}
      >
        {foldable ? (row.open ? "▾" : "▸") : ""}
      </button>
      {row.kind === "task" ? <TaskWords row={row} /> : <FoldWords row={row} />}
      <span className="tail">{tail(row)}</span>
    </div>
  );
}

function TaskWords({ row }: { row: Row & { kind: "task" } }) {
  const { node } = row;
  return (
    <>
      <Status status={node.status} more={node.sums.working > 1 && node.status === "working" ? WAITING : ""} />
      <span className="title">
        {node.agent && <span className="agent">{firstLine(node.agent, 30)}</span>}
        {firstLine(node.title) || <em>{NO_PROMPT}</em>}
      </span>
      {row.loose && <span className="chip warning">unattached</span>}
      <CertaintyMark certainty={node.certainty} rule={node.rule} />
      <Flags flags={node.flags} />
      <Progress done={node.sums.done - (node.end !== null ? 1 : 0)} all={node.sums.tasks - 1} failed={node.sums.failed - (node.status === "failed" ? 1 : 0)} />
    </>
  );
}

function FoldWords({ row }: { row: Row & { kind: "fold" } }) {
  const { done, failed } = tally(row.nodes);
  const working = row.nodes.length - done;
  return (
    <>
      <Status status={failed ? "failed" : working ? "working" : "completed"} />
      <span className="title">
        <span className="agent">{firstLine(row.agent, 30)}</span>× {row.nodes.length}: {done - failed} done
        {working ? `, ${working} working` : ""}
        {failed ? `, ${failed} failed` : ""}
      </span>
    </>
  );
}

/** Times of running tasks grow; those of others stand. */
export function Elapsed({ node }: { node: Node }) {
  const now = useNow(node.status === "working");
  return <>{duration(lasted(node, now))}</>;
}

export function Figures({ row }: { row: Row }) {
  if (row.kind === "fold") return <Histogram row={row} />;
  const { node } = row;
  return (
    <>
      <span className="figure tools">{node.tools || ""}</span>
      <span className="figure time">
        <Elapsed node={node} />
      </span>
      <span className="figure cost">{money(node.cost)}</span>
      <span className="figure cost faint">{node.children.length ? money(treeCost(node)) : ""}</span>
    </>
  );
}

/** How long the folded ones took, from the quickest to the slowest. */
function Histogram({ row }: { row: Row & { kind: "fold" } }) {
  const times = row.nodes.flatMap((node) => (node.end === null ? [] : [node.end - node.start]));
  const longest = Math.max(1, ...times);
  const bins = Array.from({ length: 12 }, () => 0);
  for (const time of times) bins[Math.min(11, Math.floor((time / longest) * 12))]! += 1;
  const most = Math.max(1, ...bins);
  return (
    <svg className="histogram" width="72" height="16" role="img" aria-label={`durations up to ${duration(longest)}`}>
      {bins.map((size, at) => (
        <rect key={at} x={at * 6} width="5" y={16 - (size / most) * 16} height={(size / most) * 16} />
      ))}
    </svg>
  );
}
