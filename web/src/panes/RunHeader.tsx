/** The head of a run: what it is, how it stands, what it cost, what is not known of it. */
import { useState } from "react";
import { api } from "../api/client";
import { source } from "../api/source";
import type { Conversation, Task } from "../api/types.gen";
import { clock, count, duration, grouped, money, tokens } from "../state/format";
import { sentence, share, told } from "../state/meter";
import type { Run } from "../state/run";
import { NO_PROMPT, WAITING } from "../state/sources";
import { firstLine } from "../state/text";
import { delegatedCost, lasted, ownCost, span } from "../state/tree";
import type { Tab } from "../state/view";
import { stalls } from "../state/waits";
import { Cancel } from "./Asking";
import { Export } from "./Export";
import { Feedback } from "./Feedback";
import { RunFindings } from "./Findings";
import { Forget } from "./Forget";
import { CertaintyMark, Flags, Status } from "../ui/Marks";
import { Copy } from "../ui/Text";
import { useAnswer, useNow, useStore } from "../ui/hooks";
import { Link, conversationView, fresh, taskView, useNavigation } from "../ui/navigation";

const MOST_WAITS = 3;

interface Properties {
  run: Run;
  task: Task | null;
  conversation: Conversation | null;
  title: string;
}

export function RunHeader({ run, task, conversation, title }: Properties) {
  useStore(run);
  const { adjust, go } = useNavigation();
  const roots = run.tree?.roots ?? [];
  const working = roots.some((root) => root.sums.working > 0);
  const now = useNow(working);
  const node = task ? run.tree?.nodes.get(task.id) : undefined;
  const status = node?.status ?? task?.status ?? (working ? "working" : roots.at(-1)?.status ?? "unknown");
  const waits = run.tree ? stalls(run.tree, now) : [];
  return (
    <header className="run-header">
      <h1>
        <Status status={status} words /> <span>{title || !run.tree ? firstLine(title, 160) : <em>{NO_PROMPT}</em>}</span>
      </h1>
      <p className="chips">
        {conversation && (
          <>
            <span className="chip">conversation of {count(conversation.roots, "prompt")}</span>
            {conversation.branches.some((name) => /^(branch|compact)/.test(name)) && (
              <span className="chip">{firstLine(conversation.branches.filter((name) => !name.startsWith("subtask")).join(", "), 80)}</span>
            )}
            {conversation.client && <span className="chip">{firstLine(conversation.client, 40)}</span>}
          </>
        )}
        {task?.native_status === WAITING && status === "working" && <span className="chip">{WAITING}</span>}
        {task?.agent_type && <span className="chip">{firstLine(task.agent_type, 40)}</span>}
        {task && (
          <span className={`chip author-${task.prompt_author}`}>
            {task.link ? <Link to={taskView(task.link.parent)}>asked by an agent</Link> : askedBy(task)}
          </span>
        )}
        <CertaintyMark certainty={task?.link?.certainty ?? null} rule={task?.link?.rule} />
        <Flags flags={task?.flags ?? []} />
        {task?.link && (
          <button type="button" className="quiet" onClick={() => adjust({ selected: `task:${task.id}`, pane: "why" })}>
            why?
          </button>
        )}
        {!source.saved && task?.conversation && <Link to={conversationView(task.conversation)}>conversation</Link>}
        {!source.saved && task && <Cancel task={task} status={status} />}
        {!source.saved && task && <Link to={fresh({ page: "compare", a: task.id })}>compare with…</Link>}
        {!source.saved && <Export subject={run.subject} id={run.id} />}
        {!source.saved && <Copy text={() => location.href} label="copy link" />}
        {!source.saved && (conversation?.id ?? task?.conversation) && <Forget id={conversation?.id ?? task?.conversation ?? ""} run={run} />}
      </p>
      {task && <Feedback task={task} />}
      {run.tree && <Figures run={run} now={now} />}
      {run.tree && <Meter id={run.id} version={run.tree?.nodes.size ?? 0} working={working} />}
      {run.tree && <RunFindings id={run.id} tasks={run.tree.nodes.size} working={working} />}
      {waits.slice(0, MOST_WAITS).map((wait) => (
        <p key={wait.node.id} className="stall" role="status">
          <button type="button" className="quiet" onClick={() => adjust({ selected: `task:${wait.node.id}` })}>
            {firstLine(wait.node.title, 60)}
          </button>{" "}
          {wait.node.agent && `(${firstLine(wait.node.agent, 30)}) `}
          has been silent for {duration(wait.silent)}
          {wait.above > 0 && `; ${count(wait.above, "task")} above ${wait.above === 1 ? "waits" : "wait"} for it`}
        </p>
      ))}
      {waits.length > MOST_WAITS && (
        <p className="stall">
          <button type="button" className="quiet" onClick={() => go({ tab: "tree", words: "stalled" })}>
            {count(waits.length - MOST_WAITS, "more task")}
          </button>{" "}
          {waits.length - MOST_WAITS === 1 ? "is" : "are"} silent as well
        </p>
      )}
    </header>
  );
}

function askedBy(task: Task): string {
  if (task.prompt_author === "human") return "asked by a person";
  return task.prompt_author === "unknown" ? "nobody knows who asked" : `asked by ${task.prompt_author}`;
}

function Figures({ run, now }: { run: Run; now: number }) {
  const roots = run.tree?.roots ?? [];
  const { from, to, open } = run.tree ? span(run.tree) : { from: 0, to: 0, open: false };
  const sum = (pick: (node: (typeof roots)[number]) => number | null) =>
    roots.reduce<number | null>((total, node) => (total === null || pick(node) === null ? null : total + (pick(node) ?? 0)), 0);
  const known = roots.some((node) => node.sums.calls || node.sums.cost); // of agents whose models nobody saw, nobody knows how many calls they made, nor what these cost
  const paid = (pick: (node: (typeof roots)[number]) => number | null) => money(known ? sum(pick) : null);
  const all = sum((node) => node.sums.tasks - 1) ?? 0;
  const unseen = roots.length > 0 && roots.every((node) => node.sums.tasks === 1 && lasted(node, now) === null);
  const done = sum((node) => node.sums.done - (node.end !== null ? 1 : 0)) ?? 0;
  return (
    <dl className="triple">
      <Figure name="asked" value={from ? clock(new Date(from).toISOString()) : "—"} />
      <Figure name="time" value={unseen ? "—" : duration((open ? now : to) - from)} tab="timeline" />
      <Figure name="sub-tasks" value={all ? `${done}/${all}` : "none"} tab="tree" />
      <Figure name="model calls" value={known ? String(sum((node) => node.sums.calls) ?? 0) : "—"} tab="calls" />
      <Figure name="tools" value={String(sum((node) => node.sums.tools) ?? 0)} tab="tools" />
      <Figure name="tokens" value={known ? tokens(sum((node) => node.sums.tokens) ?? 0) : "—"} tab="calls" />
      <Figure name="own cost" value={paid(ownCost)} tab="calls" />
      <Figure name="delegated" value={paid(delegatedCost)} tab="tree" />
      <Figure name="whole tree" value={paid((node) => node.sums.cost)} tab="tree" />
    </dl>
  );
}

/** Each leads to what it counts. */
function Figure({ name, value, tab }: { name: string; value: string; tab?: Tab }) {
  const { go } = useNavigation();
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {tab ? (
          <button type="button" className="figure-link" title={`see it in: ${tab}`} onClick={() => go({ tab, kind: "", status: "" })}>
            {value}
          </button>
        ) : (
          value
        )}
      </dd>
    </div>
  );
}

const MANY = 5000; // so many are only looked through when somebody asks

/** A ring and a sentence; each part opens what it counts. */
function Meter({ id, version, working }: { id: string; version: number; working: boolean }) {
  const [wanted, want] = useState(false);
  const many = version > MANY && !wanted;
  const { value } = useAnswer(many ? null : () => api.completeness(id), `${id}:${many}`, `${version}:${working}`);
  const { adjust } = useNavigation();
  if (!value) {
    return (
      <p className="meter-line">
        {many && (
          <button type="button" className="quiet" onClick={() => want(true)}>
            what is not known of these {grouped(version)} tasks?
          </button>
        )}
      </p>
    );
  }
  const known = share(value);
  const kinds: Record<string, string> = { unattached: "task", unresolved: "task", inferred: "task", no_result: "tool", cut_short: "call", failed_calls: "call", withheld: "call" };
  return (
    <p className="meter-line" aria-label={`completeness: ${sentence(value)}`}>
      <svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
        <circle cx="10" cy="10" r="8" className="ring" />
        <circle cx="10" cy="10" r="8" className={known < 1 ? "ring-known partly" : "ring-known"} strokeDasharray={`${known * 50.27} 50.27`} transform="rotate(-90 10 10)" />
      </svg>
      {value.missing.length === 0 && !value.unreadable ? "Everything that was seen is known" : ""}
      {value.missing.map((one) => (
        <button key={one.kind} type="button" className="quiet" onClick={() => adjust({ selected: `${kinds[one.kind]}:${one.ids[0]}`, pane: one.kind === "inferred" ? "why" : "details" })}>
          {told(one)}
        </button>
      ))}
      {value.unreadable > 0 && <Link to={fresh({ page: "health" })}>{count(value.unreadable, "unreadable observation")}</Link>}
    </p>
  );
}
