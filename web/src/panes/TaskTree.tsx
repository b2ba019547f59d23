/** The tree of a run, and beside it the columns that it is read for. */
import { useCallback } from "react";
import { count } from "../state/format";
import type { Run } from "../state/run";
import type { Row } from "../state/rows";
import { TaskTip } from "../ui/Tip";
import { Virtual } from "../ui/Virtual";
import { taskView, useNavigation } from "../ui/navigation";
import { Filter } from "./Filter";
import { Figures, TaskRow } from "./TaskRow";
import { useRows } from "./useRows";

export const ROW = 28;

export function TaskTree({ run }: { run: Run }) {
  const { view, go } = useNavigation();
  const { rows, ids, active, handle, select, fold, tip, setTip, huge } = useRows(run);
  const tail = useCallback((row: Row) => <Figures row={row} />, []);
  const all = run.tree?.nodes.size ?? 0;
  return (
    <section className="pane tree-pane" aria-label="tree">
      <Filter shown={view.words ? rows.filter((row) => row.kind === "fold" || row.hit).length : all} all={all} depths />
      {huge && <p className="note">{count(all, "task")}: folded below the second level, so that it can be read.</p>}
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
