/** Rows of a run as the address says they are folded, and moving among them with the keyboard. */
import { useMemo, useRef, useState } from "react";
import type { Run } from "../state/run";
import type { Row } from "../state/rows";
import { HUGE, indexOf, visibleRows } from "../state/rows";
import { isFailed } from "../state/status";
import { toggle } from "../state/view";
import type { TipTarget } from "../ui/Tip";
import type { VirtualHandle } from "../ui/Virtual";
import { rowId } from "../ui/Virtual";
import { useStore } from "../ui/hooks";
import { useKeys } from "../ui/keyboard";
import { taskView, useNavigation } from "../ui/navigation";

/** Tasks that are about to be moved, and the parent if one was chosen already. */
export interface Moving {
  ids: string[];
  target: string | undefined;
}

export function useRows(run: Run) {
  const version = useStore(run);
  const { view, adjust, go } = useNavigation();
  const handle = useRef<VirtualHandle>(null);
  const [tip, setTip] = useState<TipTarget | null>(null);
  const [moving, moveTo] = useState<Moving | null>(null);
  const toggled = view.toggled.join(",");
  const huge = (run.tree?.nodes.size ?? 0) > HUGE;
  const below = view.below ?? (huge ? 2 : null);
  const rows = useMemo(
    () => (run.tree ? visibleRows(run.tree, { below, toggled: new Set(view.toggled), focus: view.focus, words: view.words }) : []),
    // Figures are read when a row is drawn; only what a filter looks at may make rows of its own.
    [run.tree, view.words ? version : run.tree?.shape, below, toggled, view.focus, view.words],
  );
  const ids = useMemo(() => rows.map((row) => row.id), [rows]);
  const active = view.selected?.startsWith("task:") ? view.selected.slice(5) : view.selected?.startsWith("fold:") ? view.selected.slice(5) : null;
  const at = indexOf(rows, active);
  const select = (row: Row | undefined) => {
    if (!row) return;
    adjust({ selected: `${row.kind}:${row.id}` });
    handle.current?.reveal(rows.indexOf(row));
    const box = document.getElementById(rowId(row.id))?.getBoundingClientRect();
    if (box && row.kind === "task") setTip({ id: row.id, x: box.left + 40, y: box.bottom });
  };
  const fold = (row: Row) => adjust({ toggled: toggle(view.toggled, row.id) });
  const current = rows[at];
  const above = () => rows.slice(0, at).findLast((row) => current && row.depth < current.depth);
  const beside = (step: 1 | -1) => {
    if (!current) return undefined;
    for (let index = at + step; rows[index] && (rows[index]?.depth ?? 0) >= current.depth; index += step) {
      if (rows[index]?.depth === current.depth) return rows[index];
    }
    return undefined;
  };
  const failed = (row: Row) => row.kind === "task" && isFailed(row.node.status);
  const chosen = () => (run.marked.size ? [...run.marked] : current?.kind === "task" ? [current.id] : []);
  const moveChosen = () => chosen().length && moveTo({ ids: chosen(), target: undefined });
  /** A row that is dragged takes the chosen ones along, if it is one of them. */
  const drop = (dragged: string, target: string) => {
    const ids = run.marked.has(dragged) ? [...run.marked] : [dragged];
    if (!ids.includes(target)) moveTo({ ids, target });
  };
  useKeys({
    next: () => select(rows[Math.min(at + 1, rows.length - 1)]),
    previous: () => select(rows[Math.max(at - 1, 0)]),
    expand: () => current && (canOpen(current) && !current.open ? fold(current) : select(current.open ? rows[at + 1] : current)),
    collapse: () => current && (current.open ? fold(current) : select(above())),
    open: () => current?.kind === "task" && go(taskView(current.id)),
    before: () => select(beside(-1)),
    after: () => select(beside(1)),
    failure: () => select(rows.find((row, index) => index > at && failed(row)) ?? rows.find(failed)),
    mark: () => current?.kind === "task" && run.mark(current.id),
    move: () => moveChosen(),
    focus: () => go({ focus: view.focus ? null : active }),
  });
  const stopMoving = () => moveTo(null);
  return { moving, moveChosen, stopMoving, drop, rows, ids, active, handle, select, fold, tip, setTip, huge: huge && view.below === null };
}

export function canOpen(row: Row): boolean {
  return row.kind === "fold" || row.node.children.length > 0;
}
