/** A child that an agent announces while its parent is open gets a tab at once, behind what is looked at. */
import { useEffect, useRef } from "react";
import { ApiError, api } from "../api/client";
import { feed } from "../api/live";
import type { Change, Task } from "../api/types.gen";
import { keptProtocol } from "../state/kept";
import { isDone } from "../state/status";
import { tabOf } from "../state/tabs";
import type { Tree } from "../state/tree";
import { taskView, useNavigation } from "../ui/navigation";
import { useTabs } from "../ui/tabs";

export const IN_FRONT = "ramify.children-in-front";
const ANNOUNCED = "ramify.announced";
const MOST_REMEMBERED = 2000;
const MOST_TABS = 40; // of one run: more are found in its tree

const announced = remembered();
/** Announced before a tab above them was open: whoever opens one still gets theirs. */
const early = new Map<string, Task>();
let reconsider: () => void = () => undefined;

export function useChildTabs(): void {
  const { tabs, openTab, renameTab } = useTabs();
  const { view, go, adjust } = useNavigation();
  const latest = useRef({ tabs, view, go, adjust, openTab, renameTab });
  latest.current = { tabs, view, go, adjust, openTab, renameTab };
  useEffect(() => {
    const parents = new Map<string, string>();
    const opened = (task: Task) => {
      const parent = task.parent ?? task.link?.parent;
      if (parent) parents.set(task.id, parent);
      const now = latest.current;
      if (!parent || !keptProtocol(task) || announced.has(task.id)) return;
      const known = now.tabs.some((tab) => tab.id === task.id);
      const tab = tabOf(now.tabs, { id: task.id, parent, title: task.title || task.agent || "sub-task", status: task.status }, parents);
      if (!known && !tab) wait(task);
      else early.delete(task.id);
      if (known || !tab || now.tabs.filter((one) => one.root === tab.root).length >= MOST_TABS) return;
      remember(task.id);
      latest.current.tabs = [...now.tabs, tab]; // a child of it may be in the same batch
      now.openTab(tab);
      if (localStorage.getItem(IN_FRONT) === "yes") now.go(taskView(task.id));
    };
    const follow = async (id: string) => {
      if (!latest.current.tabs.some((tab) => tab.id === id)) return;
      const found = await api.task(id).catch((error: unknown) => (error instanceof ApiError ? null : Promise.reject(error)));
      if (!found || found.id === id) return;
      remember(found.id);
      latest.current.renameTab(id, found.id);
      if (latest.current.view.id === id) latest.current.adjust({ id: found.id });
    };
    const changed = (_seq: number, changes: Change[]) => {
      const gone = changes.flatMap((change) => (change.gone?.kind === "task" ? [change.gone.id] : []));
      const open = new Set(latest.current.tabs.map((tab) => tab.id));
      if (gone.some((id) => open.has(id))) {
        // What a name turned out to be is among the rest: first the tab takes its place, then others are opened.
        void Promise.all(gone.map(follow)).then(() => changes.forEach(({ task }) => task && opened(task)));
      } else changes.forEach(({ task }) => task && opened(task));
    };
    reconsider = () => [...early.values()].forEach(opened);
    return feed.listen({ changed, restart: () => undefined });
  }, []);
  useEffect(() => reconsider(), [tabs]);
}

function remembered(): Set<string> {
  try {
    return new Set(JSON.parse(sessionStorage.getItem(ANNOUNCED) ?? "[]") as string[]);
  } catch {
    return new Set();
  }
}

/** A tab that somebody closed does not come back with the next change. */
function remember(id: string): void {
  announced.add(id);
  sessionStorage.setItem(ANNOUNCED, JSON.stringify([...announced].slice(-MOST_REMEMBERED)));
}

function wait(task: Task): void {
  early.delete(task.id);
  early.set(task.id, task);
  const [oldest] = early.keys();
  if (early.size > MOST_REMEMBERED && oldest) early.delete(oldest);
}

/** What was over when its run was opened was not announced to whoever looks; what still goes on is as if announced now. */
export async function wasThere(tree: Tree): Promise<void> {
  for (const node of tree.nodes.values()) if (isDone(node.status)) announced.add(node.id);
  const going = [...tree.nodes.values()].filter((node) => node.parent && !isDone(node.status) && !announced.has(node.id));
  if (!going.length) return;
  const answer = await api.tasks(going.slice(0, MOST_TABS).map((node) => node.id)).catch(() => null); // they come with their next change
  for (const task of answer?.items ?? []) if (!early.has(task.id)) wait(task);
  reconsider();
}
