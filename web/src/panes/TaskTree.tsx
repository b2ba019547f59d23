/** The tree of a run, and beside it the columns that it is read for. */
import { useCallback } from "react";
import { count } from "../state/format";
import type { Run } from "../state/run";
import type { Row } from "../state/rows";
import { TaskTip } from "../ui/Tip";
import { Virtual } from "../ui/Virtual";
import { taskView, useNavigation } from "../ui/navigation";
import { Filter } from "./Filter";
import { MoveDialog } from "./Relink";
import { Figures, TaskRow } from "./TaskRow";
import { useRows } from "./useRows";

export const ROW = 28;

export function TaskTree({ run }: { run: Run }) {
  const { view, go } = useNavigation();
  const { rows, ids, active, handle, select, fold, tip, setTip, huge, moving, moveChosen, stopMoving, drop } = useRows(run);
  const tail = useCallback((row: Row) => <Figures row={row} />, []);
  const all = run.tree?.nodes.size ?? 0;
  return (
    <section className="pane tree-pane" aria-label="tree">
      <Filter shown={view.words ? rows.filter((row) => row.kind === "fold" || row.hit).length : all} all={all} depths />
      {huge && <p className="note">{count(all, "task")}: folded below the second level, so that it can be read.</p>}
      {run.marked.size > 0 && (
        <p className="note quiet-note" role="status">
          {count(run.marked.size, "task")} chosen{" "}
          <button type="button" className="quiet" onClick={() => moveChosen()}>
            move…
          </button>
          <button type="button" className="quiet" onClick={() => run.unmarkAll()}>
            choose none
          </button>
        </p>
      )}
      <div className="columns" aria-hidden="true">
        <span className="title">task</span>
        <span className="tail">
          <span className="figure tools">tools</span>
          <span className="figure time">time</span>
          <span className="figure cost">own</span>
          <span className="figure cost">tree</span>
        </span>
      </div>
      <Virtual
        label="tasks of this run"
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
    </section>
  );
}
