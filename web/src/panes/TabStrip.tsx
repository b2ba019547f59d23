/** Tasks that are open as tabs: those of one run stand together, each with its state. */
import { useEffect, useState } from "react";
import { api } from "../api/client";
import { feed } from "../api/live";
import type { Task } from "../api/types.gen";
import { afterClosing, below } from "../state/tabs";
import { firstLine } from "../state/text";
import { Status } from "../ui/Marks";
import { Link, fresh, taskView, useNavigation } from "../ui/navigation";
import { useTabs } from "../ui/tabs";

const CASCADE = "ramify.cascade";
const HUES = 6;
const LATER = 2000; // milliseconds: the page itself comes first

export function TabStrip() {
  const { tabs, closeTab } = useTabs();
  const { view, go } = useNavigation();
  const statuses = useStatuses(tabs.map((tab) => tab.id), view.id);
  const [closing, ask] = useState<string | null>(null);
  if (!tabs.length) return null;
  const roots = [...new Set(tabs.map((tab) => tab.root))];
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
      <ul>
        {tabs.map((tab) => (
          <li key={tab.id} className={`hue-${roots.indexOf(tab.root) % HUES}${tab.id === view.id ? " current" : ""}${tab.parent && tabs.some((one) => one.id === tab.parent) ? " child" : ""}`}>
            <Link to={taskView(tab.id)} aria-current={tab.id === view.id ? "page" : undefined}>
              <Status status={statuses.get(tab.id) ?? tab.status} /> {firstLine(tab.title, 32)}
            </Link>
            <button type="button" className="quiet close" aria-label={`close ${firstLine(tab.title, 32)}`} onClick={() => close(tab.id)}>
              ✕
            </button>
          </li>
        ))}
      </ul>
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

function useStatuses(ids: string[], current: string): Map<string, string> {
  const [statuses, set] = useState(new Map<string, string>());
  const key = ids.join(",");
  useEffect(() => {
    if (!ids.length) return undefined;
    const take = (task: Task) => set((old) => new Map(old).set(task.id, task.status));
    const others = ids.filter((id) => id !== current); // the page of the current one knows its status itself
    const ask = () =>
      others.length &&
      api.tasks(others).then(
        (found) => found.items.forEach(take),
        () => undefined, // a tab whose state cannot be had keeps the last one that was seen
      );
    const timer = setTimeout(ask, LATER);
    const leave = feed.listen({
      changed: (_seq, changes) => changes.forEach(({ task }) => task && ids.includes(task.id) && take(task)),
      restart: () => void ask(),
    });
    return () => {
      clearTimeout(timer);
      leave();
    };
  }, [key]);
  return statuses;
}
