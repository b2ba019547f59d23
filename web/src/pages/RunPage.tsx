/** One run, seen each way: the same selection in transcript, tree, timeline and graph. */
import { useEffect, useMemo } from "react";
import type { Subject } from "../api/client";
import { api } from "../api/client";
import { feed } from "../api/live";
import { home, source } from "../api/source";
import type { Call, Task } from "../api/types.gen";
import { count } from "../state/format";
import { Run } from "../state/run";
import { NO_PROMPT } from "../state/sources";
import { firstLine } from "../state/text";
import type { Tab } from "../state/view";
import { TABS, parseView } from "../state/view";
import { Artifacts } from "../panes/Artifacts";
import { Cache } from "../panes/Cache";
import { CallsTable } from "../panes/CallsTable";
import { wasThere } from "../panes/childTabs";
import { Details } from "../panes/Details";
import { FlowPane } from "../panes/FlowPane";
import { Graph } from "../panes/Graph";
import { ReasoningPane } from "../panes/ReasoningPane";
import { Undo } from "../panes/Relink";
import { RunHeader } from "../panes/RunHeader";
import { TaskTree } from "../panes/TaskTree";
import { Timeline } from "../panes/Timeline";
import { ToolsPane } from "../panes/ToolsPane";
import { Transcript } from "../panes/Transcript";
import { Unresolved, isUnresolved } from "../panes/Unresolved";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer, useInSight, useStore } from "../ui/hooks";
import { useKeys } from "../ui/keyboard";
import { Link, conversationView, fresh, taskView, useNavigation } from "../ui/navigation";
import { useTabs } from "../ui/tabs";
import { NotFound } from "./Unknown";

const WORDS: Record<Tab, string> = { transcript: "Transcript", tree: "Tree", timeline: "Timeline", graph: "Graph", calls: "Calls", cache: "Prompt cache", artifacts: "Artifacts", tools: "Tools", reasoning: "Reasoning", flow: "Flow" };

/** A saved run does not hold what only the server can work out. */
const SHOWN = () => (source.saved ? TABS.filter((tab) => tab !== "cache" && tab !== "flow") : TABS);

export function RunPage({ subject, id }: { subject: Subject; id: string }) {
  const { view, go, adjust } = useNavigation();
  const run = useMemo(() => new Run(subject, id, feed), [subject, id]);
  useStore(run);
  useEffect(() => run.open(), [run]);
  useEffect(() => {
    if (run.tree && !source.saved) void wasThere(run.tree);
  }, [run.tree === null]);
  const drawn = run.tree !== null; // the tree comes first: everything else is asked for when its rows are there
  const task = useAnswer(drawn && subject === "task" ? () => api.task(id) : null, `${subject}:${id}:${drawn}`);
  const conversation = useAnswer(drawn && subject === "conversation" ? () => api.conversation(id) : null, `${subject}:${id}:${drawn}`);
  const title = task.value?.title ?? conversation.value?.title ?? run.tree?.roots[0]?.title ?? "";
  const { tabs, openTab } = useTabs();
  useEffect(() => {
    document.title = title ? `${firstLine(title, 60)} – Ramify` : "Ramify";
    if (task.value) openTab({ id, title: title || NO_PROMPT, root: task.value.root, parent: task.value.link?.parent ?? null, status: task.value.status });
  }, [task.value, title]);
  const parent = task.value?.link?.parent ?? tabs.find((one) => one.id === id)?.parent;
  const tab = (at: number) => () => go({ tab: TABS[at] ?? "transcript", kind: "", status: "" });
  useKeys({
    tab1: tab(0), tab2: tab(1), tab3: tab(2), tab4: tab(3), tab5: tab(4), tab6: tab(5), tab7: tab(6), tab8: tab(7), tab9: tab(8), tab0: tab(9),
    parent: () => parent && go(taskView(parent)),
    live: () => run.hold(!run.paused),
    close: () => adjust({ selected: null }),
  });
  const strip = useInSight<HTMLDivElement>("[aria-selected=true]", view.tab);
  if (run.error?.status === 404) return <NotFound what={id} />;
  if (run.error && !run.tree) return <Trouble error={run.error} again={() => void run.load()} />;
  return (
    <div className="run-page">
      {(!source.saved || subject === "task") && <Crumbs task={task.value} />}
      <RunHeader run={run} task={task.value} conversation={conversation.value} title={title || (subject === "conversation" ? "Conversation" : "")} />
      <Notices run={run} />
      {!source.saved && task.value && isUnresolved(task.value) && <Unresolved task={task.value} again={task.again} />}
      <div ref={strip} className="view-tabs" role="tablist" aria-label="ways to see this run">
        {SHOWN().map((one) => (
          <button key={one} id={`tab-${one}`} type="button" role="tab" aria-selected={view.tab === one} aria-controls="view" onClick={() => go({ tab: one, kind: "", status: "" })}>
            {WORDS[one]}
          </button>
        ))}
      </div>
      <div className={`split${view.selected ? " with-details" : ""}`}>
        <div className="view" id="view" role="tabpanel" aria-labelledby={`tab-${view.tab}`}>
          {run.tree ? <Chosen run={run} tab={view.tab} /> : <Loading rows={10} />}
        </div>
        <Details />
      </div>
    </div>
  );
}

function Chosen({ run, tab }: { run: Run; tab: Tab }) {
  switch (tab) {
    case "tree":
      return <TaskTree run={run} />;
    case "timeline":
      return <Timeline run={run} />;
    case "graph":
      return <Graph run={run} />;
    case "calls":
      return <Calls run={run} />;
    case "cache":
      return (
        <>
          {(run.tree?.roots ?? []).map((root) => (
            <Cache key={root.id} id={root.id} />
          ))}
        </>
      );
    case "artifacts":
      return <Artifacts run={run} />;
    case "tools":
      return <ToolsPane run={run} />;
    case "reasoning":
      return <ReasoningPane run={run} />;
    case "flow":
      return <FlowPane run={run} />;
    default:
      return <Transcript run={run} />;
  }
}

function Calls({ run }: { run: Run }) {
  const given = run.subject === "task" ? { task: run.id } : { conversation: run.id };
  const calls = useAnswer(() => api.calls({ ...given, limit: 1000 }), run.id, run.version());
  if (calls.error) return <Trouble error={calls.error} again={calls.again} />;
  return (
    <section className="pane" aria-label="calls">
      {calls.value && <Others run={run} own={calls.value.items} />}
      {calls.value ? <CallsTable calls={calls.value.items} /> : <Loading />}
    </section>
  );
}

/** A task's own calls are listed; those of what it gave away are counted in its head, and stand with the others of the conversation. */
function Others({ run, own }: { run: Run; own: Call[] }) {
  const root = run.subject === "task" ? run.tree?.nodes.get(run.id) : undefined;
  const others = (root?.sums.calls ?? 0) - (root?.calls ?? 0);
  const conversation = own[0]?.conversation;
  if (others <= 0) return null;
  return (
    <p className="faint lead-in">
      Its own; {count(others, "further call")} {others === 1 ? "belongs" : "belong"} to its sub-tasks{conversation && !source.saved ? ": " : "."}
      {conversation && !source.saved && <Link to={{ ...conversationView(conversation), tab: "calls" }}>all calls of the conversation</Link>}
    </p>
  );
}

/** From the person down to this task. */
function Crumbs({ task }: { task: Task | null }) {
  const path = useAnswer(task ? () => pathAbove(task) : null, task?.id ?? "");
  return (
    <nav className="crumbs" aria-label="breadcrumb">
      {source.saved ? <Link to={parseView(home())}>the whole run</Link> : <Link to={fresh({ page: "runs" })}>Runs</Link>}
      {(path.value ?? []).map((task, at, all) => (
        <span key={task.id}>
          <span aria-hidden="true">›</span>{" "}
          {at === 0 && task.conversation && !source.saved ? (
            <>
              <Link to={conversationView(task.conversation)}>conversation</Link> <span aria-hidden="true">›</span>{" "}
            </>
          ) : null}
          {at === all.length - 1 ? <b>{firstLine(task.title || NO_PROMPT, 40)}</b> : <Link to={taskView(task.id)}>{firstLine(task.title || NO_PROMPT, 30)}</Link>}
        </span>
      ))}
      {(path.value?.length ?? 0) > 1 && (
        <Link className="back" to={taskView(path.value?.at(-2)?.id ?? "")}>
          ↑ return to parent
        </Link>
      )}
    </nav>
  );
}

async function pathAbove(task: Task) {
  const path = [task];
  for (let up = path[0]?.link?.parent; up && path.length < 50; up = path[0]?.link?.parent) {
    const above = await api.task(up).catch(() => null); // a saved run may be a part of one
    if (!above) break;
    path.unshift(above);
  }
  return path;
}

function Notices({ run }: { run: Run }) {
  return (
    <>
      {run.moved && <Undo moved={run.moved} done={() => run.keepMoved(null)} />}
      {run.paused && (
        <p className="note" role="status">
          Held still; {count(run.held.length, "change")} waiting.{" "}
          <button type="button" className="quiet" onClick={() => run.hold(false)}>
            live again
          </button>
        </p>
      )}
      {run.reloadedAt && (
        <p className="note" role="status">
          View reloaded at {new Date(run.reloadedAt).toLocaleTimeString(undefined, { hour12: false })}.
        </p>
      )}
    </>
  );
}
