/** Tasks on one axis of time: as rows of the tree, or one lane for each agent; and what the end had to wait for. */
import { useCallback, useEffect, useMemo, useRef } from "react";
import type { Segment } from "../state/critical";
import { criticalPath, shares } from "../state/critical";
import { count, duration } from "../state/format";
import type { Run } from "../state/run";
import type { Row } from "../state/rows";
import { NO_PROMPT } from "../state/sources";
import { look } from "../state/status";
import { firstLine } from "../state/text";
import type { Window } from "../state/timeline";
import { bar, ticks, zoom } from "../state/timeline";
import type { Tree } from "../state/tree";
import { span, walk } from "../state/tree";
import { TaskTip } from "../ui/Tip";
import { Virtual } from "../ui/Virtual";
import { useNow, useSize, useStore } from "../ui/hooks";
import { useKeys } from "../ui/keyboard";
import { taskView, useNavigation } from "../ui/navigation";
import { Bar, CriticalBars } from "./Bars";
import { Filter } from "./Filter";
import { Lanes } from "./Lanes";
import { MoveDialog } from "./Relink";
import { TaskRow } from "./TaskRow";
import { ROW } from "./TaskTree";
import { useRows } from "./useRows";

export function Timeline({ run }: { run: Run }) {
  const { view, adjust } = useNavigation();
  const version = useStore(run);
  const whole = run.tree ? span(run.tree) : { from: 0, to: 1, open: false };
  const now = useNow(whole.open);
  const full = { from: whole.from, to: whole.open ? Math.max(now, whole.to) : whole.to };
  const shown = zoom(full, view.from, view.to);
  const path = useMemo(() => (view.critical && run.tree ? run.tree.roots.flatMap((root) => criticalPath(root, now)) : null), [view.critical, run.tree, version, now]);
  useKeys({ critical: () => adjust({ critical: !view.critical }) });
  const head = (
    <>
      {run.tree && <Overview tree={run.tree} full={full} shown={shown} version={version} />}
      {path && <Told path={path} />}
      <Axis shown={shown} from={full.from} />
    </>
  );
  return (
    <section className="pane timeline-pane" aria-label="timeline">
      {view.lanes && run.tree ? (
        <>
          <div className="filter">
            <Controls />
          </div>
          {head}
          <Lanes tree={run.tree} version={version} window={shown} now={now} path={path} />
        </>
      ) : (
        <TaskRows run={run} window={shown} now={now} path={path}>
          {head}
        </TaskRows>
      )}
    </section>
  );
}

const ROOM_FOR_WORDS = 0.95;

function Axis({ shown, from }: { shown: Window; from: number }) {
  return (
    <div className="columns axis" aria-hidden="true">
      <span className="title">{duration(shown.to - shown.from)}</span>
      <span className="tail">
        {ticks(shown, from).filter((at) => (at - shown.from) / (shown.to - shown.from) < ROOM_FOR_WORDS).map((at) => (
          <span key={at} className="tick" style={{ left: `${((at - shown.from) / (shown.to - shown.from)) * 100}%` }}>
            {duration(at - from)}
          </span>
        ))}
      </span>
    </div>
  );
}

function Controls() {
  const { view, adjust } = useNavigation();
  return (
    <>
      <span className="depths" role="group" aria-label="what a line is">
        <button type="button" aria-pressed={!view.lanes} onClick={() => adjust({ lanes: false })}>
          tasks
        </button>
        <button type="button" aria-pressed={view.lanes} onClick={() => adjust({ lanes: true })}>
          lanes
        </button>
      </span>
      <label className="switch">
        <input type="checkbox" checked={view.critical} onChange={() => adjust({ critical: !view.critical })} /> critical path
      </label>
    </>
  );
}

const NAMED = 4;

/** The path in words: who could have been quicker, so that all of it had been. */
function Told({ path }: { path: Segment[] }) {
  const { adjust } = useNavigation();
  const parts = shares(path);
  const total = parts.reduce((sum, part) => sum + part.ms, 0);
  return (
    <p className="note quiet-note critical-note" role="status">
      The end waited for {count(parts.length, "task")}, {duration(total)} in all:{" "}
      {parts.slice(0, NAMED).map(({ node, ms }, at) => (
        <span key={node.id}>
          {at > 0 && ", "}
          <button type="button" className="quiet" onClick={() => adjust({ selected: `task:${node.id}` })}>
            {firstLine(node.title || NO_PROMPT, 40)}
          </button>{" "}
          {duration(ms)}
        </span>
      ))}
      {parts.length > NAMED && ` and ${parts.length - NAMED} more`}.
    </p>
  );
}

interface RowsProperties {
  run: Run;
  window: Window;
  now: number;
  path: Segment[] | null;
  children: React.ReactNode;
}

function TaskRows({ run, window, now, path, children }: RowsProperties) {
  const { go } = useNavigation();
  const { rows, ids, active, handle, select, fold, tip, setTip, moving, stopMoving, drop } = useRows(run);
  const tail = useCallback((row: Row) => <Bars row={row} window={window} now={now} path={path} />, [window.from, window.to, now, path]);
  return (
    <>
      <Filter shown={rows.length} all={run.tree?.nodes.size ?? 0} depths>
        <Controls />
      </Filter>
      {children}
      <Virtual
        label="timeline of this run"
        role="tree"
        ids={ids}
        height={ROW}
        active={active}
        handle={handle}
        look={(shown) => run.look(shown)}
        draw={(index) => {
          const row = rows[index];
          return row ? (
            <TaskRow
              key={row.id}
              row={row}
              selected={row.id === active}
              marked={run.marked.has(row.id)}
              drop={drop}
              select={select}
              fold={fold}
              open={(id) => go(taskView(id))}
              rest={(id, x, y) => setTip(id ? { id, x, y } : null)}
              tail={tail}
            />
          ) : null;
        }}
      />
      <TaskTip near={tip} />
      {moving && <MoveDialog run={run} ids={moving.ids} target={moving.target} close={stopMoving} />}
    </>
  );
}

function Bars({ row, window, now, path }: { row: Row; window: Window; now: number; path: Segment[] | null }) {
  const nodes = row.kind === "fold" ? row.nodes : [row.node];
  return (
    <span className="bars">
      {nodes.slice(0, 200).map((node) => (
        <Bar key={node.id} node={node} window={window} now={now} thin={row.kind === "fold"} />
      ))}
      <CriticalBars path={path} nodes={nodes} window={window} />
    </span>
  );
}

/** The whole run as a strip; drag over it to look closer, double click to see all of it again. */
function Overview({ tree, full, shown, version }: { tree: Tree; full: Window; shown: Window; version: number }) {
  const { adjust } = useNavigation();
  const [box, size] = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<number | null>(null);
  useEffect(() => {
    if (canvas.current && size.width) drawOverview(canvas.current, tree, full, size.width);
  }, [version, size.width, full.from, full.to]);
  const moment = (clientX: number) => {
    const area = box.current?.getBoundingClientRect();
    return area ? Math.round(((clientX - area.left) / area.width) * (full.to - full.from)) : 0;
  };
  const left = ((shown.from - full.from) / (full.to - full.from)) * 100;
  const right = ((full.to - shown.to) / (full.to - full.from)) * 100;
  return (
    <div
      ref={box}
      className="overview"
      title="drag to look closer; double click for everything"
      onPointerDown={(event) => {
        drag.current = moment(event.clientX);
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerUp={(event) => {
        const [from, to] = [drag.current ?? 0, moment(event.clientX)].sort((one, other) => one - other) as [number, number];
        drag.current = null;
        if (to - from > (full.to - full.from) / 100) adjust({ from, to });
      }}
      onDoubleClick={() => adjust({ from: null, to: null })}
    >
      <canvas ref={canvas} height={40} aria-hidden="true" />
      <i className="dim" style={{ left: 0, width: `${left}%` }} />
      <i className="dim" style={{ right: 0, width: `${right}%` }} />
    </div>
  );
}

function drawOverview(canvas: HTMLCanvasElement, tree: Tree, full: Window, width: number): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = 40 * ratio;
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const nodes = [...tree.roots, ...tree.unattached].flatMap((root) => [...walk(root)]);
  const height = Math.max(0.4, Math.min(4, 40 / Math.max(nodes.length, 1)));
  nodes.forEach((node, at) => {
    const place = bar(node.start, node.end ?? node.active, full);
    if (!place) return;
    context.fillStyle = style.getPropertyValue(`--${look(node.status)}`) || "#888";
    context.fillRect((place.left / 100) * width, (at / Math.max(nodes.length, 1)) * 40, Math.max(1, (place.width / 100) * width), height);
  });
}
