/** Tasks as bars on one axis of time: solid where the task works itself, light where it waits for others. */
import { useCallback, useEffect, useRef } from "react";
import { duration } from "../state/format";
import type { Run } from "../state/run";
import type { Row } from "../state/rows";
import { look } from "../state/status";
import type { Window } from "../state/timeline";
import { bar, ticks, union, zoom } from "../state/timeline";
import type { Node, Tree } from "../state/tree";
import { span, walk } from "../state/tree";
import { TaskTip } from "../ui/Tip";
import { Virtual } from "../ui/Virtual";
import { useNow, useSize, useStore } from "../ui/hooks";
import { taskView, useNavigation } from "../ui/navigation";
import { Filter } from "./Filter";
import { Elapsed, TaskRow } from "./TaskRow";
import { ROW } from "./TaskTree";
import { useRows } from "./useRows";

export function Timeline({ run }: { run: Run }) {
  const { view, go } = useNavigation();
  const version = useStore(run);
  const { rows, ids, active, handle, select, fold, tip, setTip } = useRows(run);
  const whole = run.tree ? span(run.tree) : { from: 0, to: 1, open: false };
  const now = useNow(whole.open);
  const full = { from: whole.from, to: whole.open ? Math.max(now, whole.to) : whole.to };
  const shown = zoom(full, view.from, view.to);
  const tail = useCallback((row: Row) => <Bars row={row} window={shown} now={now} />, [shown.from, shown.to, now]);
  return (
    <section className="pane timeline-pane" aria-label="timeline">
      <Filter shown={rows.length} all={run.tree?.nodes.size ?? 0} depths />
      {run.tree && <Overview tree={run.tree} full={full} shown={shown} version={version} />}
      <div className="columns axis" aria-hidden="true">
        <span className="title">{duration(shown.to - shown.from)}</span>
        <span className="tail">
          {ticks(shown, full.from).map((at) => (
            <span key={at} className="tick" style={{ left: `${((at - shown.from) / (shown.to - shown.from)) * 100}%` }}>
              {duration(at - full.from)}
            </span>
          ))}
        </span>
      </div>
      <Virtual
        label="timeline of this run"
        role="tree"
        ids={ids}
        height={ROW}
        active={active}
        handle={handle}
        draw={(index) => {
          const row = rows[index];
          return row ? (
            <TaskRow
              key={row.id}
              row={row}
              selected={row.id === active}
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
    </section>
  );
}

function Bars({ row, window, now }: { row: Row; window: Window; now: number }) {
  const nodes = row.kind === "fold" ? row.nodes : [row.node];
  return (
    <span className="bars">
      {nodes.slice(0, 200).map((node) => (
        <Bar key={node.id} node={node} window={window} now={now} thin={row.kind === "fold"} />
      ))}
    </span>
  );
}

function Bar({ node, window, now, thin }: { node: Node; window: Window; now: number; thin: boolean }) {
  const running = node.status === "working";
  const place = bar(node.start, node.end ?? (running ? now : node.active), window);
  if (!place) return null;
  const own = { from: node.start, to: node.end ?? now };
  const waits = union(
    node.children.flatMap((child) => bar(Math.max(child.start, own.from), Math.min(child.end ?? (child.status === "working" ? now : child.active), own.to), window) ?? []),
  );
  return (
    <>
      <i className={`bar ${look(node.status)}${thin ? " thin" : ""}`} style={{ left: `${place.left}%`, width: `${place.width}%` }} />
      {!thin && waits.slice(0, 50).map((one) => <i key={one.left} className="bar waits" style={{ left: `${one.left}%`, width: `${one.width}%` }} />)}
      {!thin && (
        <span className="bar-words" style={place.left + place.width > 80 ? { right: `${100 - place.left}%` } : { left: `${place.left + place.width}%` }}>
          <Elapsed start={node.start} end={node.end} running={running} />
        </span>
      )}
    </>
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
