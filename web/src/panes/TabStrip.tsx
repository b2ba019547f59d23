/** Tasks that are open as tabs: those of one run stand together, each with its state. */
import { useEffect, useState } from "react";
import { api } from "../api/client";
import { feed } from "../api/live";
import type { Task } from "../api/types.gen";
import { afterClosing, asking, below } from "../state/tabs";
import { keptProtocol } from "../state/kept";
import { firstLine } from "../state/text";
import { duration } from "../state/format";
import { Status } from "../ui/Marks";
import { useInSight, useNow } from "../ui/hooks";
import { Link, fresh, taskView, useNavigation } from "../ui/navigation";
import { useTabs } from "../ui/tabs";
import { IN_FRONT, useChildTabs } from "./childTabs";

const CASCADE = "ramify.cascade";
const HUES = 6;
const LATER = 2000; // milliseconds: the page itself comes first
const TOGETHER = 600; // milliseconds in which changes are asked about once

export function TabStrip() {
  const { tabs, closeTab } = useTabs();
  const { view, go } = useNavigation();
  const tasks = useTabTasks(tabs.map((tab) => tab.id));
  useChildTabs();
  const [closing, ask] = useState<string | null>(null);
  const strip = useInSight<HTMLUListElement>(".current", `${view.id} ${tabs.length}`);
  if (!tabs.length) return null;
  const roots = [...new Set(tabs.map((tab) => tab.root))];
  const states = new Map([...tasks].map(([id, task]) => [id, { status: task.status, waiting: task.progress?.waiting ?? 0 }]));
  const badged = asking(tabs, states);
  const leave = (id: string, withChildren: boolean) => {
    const next = afterClosing(tabs, id, withChildren);
    const gone = id === view.id || (withChildren && below(tabs, id).some((tab) => tab.id === view.id));
    closeTab(id, withChildren);
    ask(null);
    if (gone) go(next ? taskView(next) : fresh({ page: "runs" }));
  };
  const close = (id: string) => {
    const remembered = localStorage.getItem(CASCADE);
    if (!below(tabs, id).length) leave(id, false);
    else if (remembered) leave(id, remembered === "yes");
    else ask(id);
  };
  return (
    <nav className="tabs" aria-label="open tasks">
      <ul ref={strip}>
        {tabs.map((tab) => (
          <li key={tab.id} className={`hue-${roots.indexOf(tab.root) % HUES}${tab.id === view.id ? " current" : ""}${tab.parent && tabs.some((one) => one.id === tab.parent) ? " child" : ""}`}>
            <Link to={taskView(tab.id)} aria-current={tab.id === view.id ? "page" : undefined}>
              <Status status={tasks.get(tab.id)?.status ?? tab.status} /> <span className="tab-title">{firstLine(tab.title, 32)}</span>
              <TabProgress task={tasks.get(tab.id)} />
              {badged.has(tab.id) && (
                <span className="badge" title="somebody is waited for">
                  ?<span className="unseen">, waits for an answer</span>
                </span>
              )}
            </Link>
            <button type="button" className="quiet close" aria-label={`close ${firstLine(tab.title, 32)}`} onClick={() => close(tab.id)}>
              ✕
            </button>
          </li>
        ))}
      </ul>
      {[...tasks.values()].some((task) => keptProtocol(task)) && <InFront />}
      {closing && (
        <div className="confirm" role="alertdialog" aria-label="close child tabs too?">
          <span>Close its {below(tabs, closing).length} child tabs too? The work itself goes on.</span>
          <button type="button" autoFocus onClick={() => leave(closing, true)}>
            Close all
          </button>
          <button type="button" onClick={() => leave(closing, false)}>
            Only this one
          </button>
          <button
            type="button"
            className="quiet"
            onClick={() => {
              localStorage.setItem(CASCADE, "yes");
              leave(closing, true);
            }}
          >
            always close all
          </button>
        </div>
      )}
    </nav>
  );
}

/** Sub-tasks ended of all; else how long it has worked. */
function TabProgress({ task }: { task: Task | undefined }) {
  const working = task?.status === "working";
  const now = useNow(working);
  if (!task || !(working || (task.progress?.working ?? 0) > 0)) return null;
  if (task.progress && task.progress.tasks > 0) {
    return (
      <span className="faint tab-progress">
        {task.progress.done}/{task.progress.tasks}
      </span>
    );
  }
  const since = now - Date.parse(task.opened ?? "");
  return since < DAY ? <span className="faint tab-progress">{duration(since)}</span> : null;
}

const DAY = 86_400_000; // what was never seen to end is not said to have worked for weeks

/** Whether a child that is announced comes to the front; kept in this browser. */
function InFront() {
  const [front, set] = useState(() => localStorage.getItem(IN_FRONT) === "yes");
  const turn = () => {
    localStorage.setItem(IN_FRONT, front ? "no" : "yes");
    set(!front);
  };
  return (
    <label className="switch in-front" title="A sub-task that another agent announces gets a tab: behind the one you look at, or in front of it">
      <input type="checkbox" checked={front} onChange={turn} /> children in front
    </label>
  );
}

/** Of every open tab its task, with how far the work under it has come. */
function useTabTasks(ids: string[]): Map<string, Task> {
  const [tasks, set] = useState(new Map<string, Task>());
  const key = ids.join(",");
  useEffect(() => {
    if (!ids.length) return undefined;
    let pause = TOGETHER;
    const ask = async () => {
      const began = performance.now();
      const found = await api.tasks(ids).catch(() => null); // a tab whose state cannot be had keeps the last one that was seen
      if (found) set(new Map(found.items.map((task) => [task.id, task])));
      pause = Math.max(TOGETHER, 8 * (performance.now() - began)); // a very large run is asked about seldom
    };
    let timer: ReturnType<typeof setTimeout> | null = setTimeout(() => {
      timer = null;
      void ask();
    }, LATER);
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = null;
        void ask();
      }, pause);
    };
    const take = (task: Task) => ids.includes(task.id) && set((old) => new Map(old).set(task.id, { ...task, progress: old.get(task.id)?.progress ?? null }));
    const leave = feed.listen({
      changed: (_seq, changes) => {
        for (const { task } of changes) if (task) take(task);
        if (changes.some(({ task, gone }) => task ?? gone?.kind === "task")) soon();
      },
      restart: soon,
    });
    return () => {
      if (timer) clearTimeout(timer);
      leave();
    };
  }, [key]);
  return tasks;
}
