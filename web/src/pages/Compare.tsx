/** Two runs side by side, from the first thing that only one of them did. */
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Task } from "../api/types.gen";
import type { Action, Line, Step } from "../state/compare";
import { actionOf, align, firstDifference, folded } from "../state/compare";
import { count, duration, money, tokens } from "../state/format";
import { NO_PROMPT } from "../state/sources";
import { firstLine, visible } from "../state/text";
import { Status } from "../ui/Marks";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer } from "../ui/hooks";
import { Link, taskView, useNavigation } from "../ui/navigation";

export function Compare() {
  const { view } = useNavigation();
  useEffect(() => {
    document.title = "Compare – Ramify";
  }, []);
  return (
    <section className="list-page wide" aria-label="compare">
      <h1>Compare two runs</h1>
      <Choose />
      {view.a && view.b && <Compared a={view.a} b={view.b} />}
    </section>
  );
}

function Choose() {
  const { view, adjust } = useNavigation();
  const runs = useAnswer(() => api.runs({ limit: 200 }), "runs");
  const field = (side: "a" | "b", label: string) => (
    <label>
      {label}
      <select value={view[side]} onChange={(event) => adjust({ [side]: event.target.value })}>
        <option value="">choose a run…</option>
        {view[side] && !runs.value?.items.some((task) => task.id === view[side]) && <option value={view[side]}>{view[side]}</option>}
        {(runs.value?.items ?? []).map((task) => (
          <option key={task.id} value={task.id}>
            {firstLine(task.title || NO_PROMPT, 70)} ({task.opened?.slice(0, 16).replace("T", " ")})
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <div className="choose">
      {field("a", "left")}
      {field("b", "right")}
      <button type="button" className="quiet" onClick={() => adjust({ a: view.b, b: view.a })}>
        swap
      </button>
    </div>
  );
}

async function runOf(id: string) {
  const [task, tools] = await Promise.all([api.task(id), api.tools(id, false)]);
  return { task, actions: tools.items.map(actionOf) };
}

function Compared({ a, b }: { a: string; b: string }) {
  const both = useAnswer(() => Promise.all([runOf(a), runOf(b)]), `${a} ${b}`);
  if (both.error) return <Trouble error={both.error} again={both.again} />;
  if (!both.value) return <Loading rows={10} />;
  const [left, right] = both.value;
  const steps = align(left.actions, right.actions);
  const first = firstDifference(steps);
  return (
    <>
      <Totals a={left.task} b={right.task} />
      <p className="lead" role="status">
        {first < 0
          ? left.task.prompt === right.task.prompt
            ? "Both did the same, step by step."
            : "Both did the same, although they were asked different things."
          : first === 0
            ? "They part at the first step."
            : `The first ${first} of ${count(steps.length, "step")} are the same; then they part.`}
      </p>
      {first >= 0 && <Parting step={steps[first] as Step} a={a} b={b} />}
      <Steps steps={steps} first={first} a={a} b={b} />
    </>
  );
}

const FIGURES: [string, (task: Task) => number | null, (value: number | null) => string][] = [
  ["time", (task) => task.duration_ms, duration],
  ["model calls", (task) => task.tree_usage.calls, (value) => String(value ?? "—")],
  ["tool calls", (task) => task.tool_calls, (value) => String(value ?? "—")],
  ["sub-tasks", (task) => task.subtasks, (value) => String(value ?? "—")],
  ["tokens", (task) => task.tree_usage.input + task.tree_usage.output, (value) => tokens(value ?? 0)],
  ["cost of the tree", (task) => task.tree_usage.cost_usd, money],
];

function Totals({ a, b }: { a: Task; b: Task }) {
  return (
    <table className="usage totals">
      <thead>
        <tr>
          <th scope="col">
            <span className="unseen">figure</span>
          </th>
          {[a, b].map((task, at) => (
            <th key={at} scope="col">
              <Status status={task.status} /> <Link to={taskView(task.id)}>{firstLine(task.title || NO_PROMPT, 50)}</Link>
            </th>
          ))}
          <th scope="col">difference</th>
        </tr>
      </thead>
      <tbody>
        {FIGURES.map(([name, pick, spell]) => {
          const [x, y] = [pick(a), pick(b)];
          const change = x ? Math.round((((y ?? 0) - x) / x) * 100) : 0;
          return (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{spell(x)}</td>
              <td>{spell(y)}</td>
              <td className={change > 20 ? "worse" : ""}>{x === null || y === null ? "—" : change ? `${change > 0 ? "+" : ""}${change} %` : "same"}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** The first decision that differs, with what each was thinking. */
function Parting({ step, a, b }: { step: Step; a: string; b: string }) {
  const left = step.kind === "left" ? step.a : null;
  const right = step.kind === "right" ? step.b : null;
  return (
    <section className="parting" aria-label="first difference">
      <h2>Where they part</h2>
      <div className="sides">
        <Thought task={a} action={left} />
        <Thought task={b} action={right} />
      </div>
    </section>
  );
}

function Thought({ task, action }: { task: string; action: Action | null }) {
  const call = action?.tool.call ?? null;
  const thoughts = useAnswer(call ? () => api.reasoning(call, false) : null, `${task}:${call}`);
  if (!action) return <div className="faint">did nothing here that the other did</div>;
  return (
    <div>
      <p>
        <b>{action.name}</b> {visible(action.text)}
      </p>
      {thoughts.value?.items.map((one, at) => (
        <blockquote key={at}>{one.withheld ? "Reasoned; the text was withheld." : visible(one.text.slice(0, 600))}</blockquote>
      ))}
    </div>
  );
}

function Steps({ steps, first, a, b }: { steps: Step[]; first: number; a: string; b: string }) {
  const [open, unfold] = useState(false);
  const lines: Line[] = open ? steps.map((step, at) => ({ kind: "step", step, at })) : folded(steps);
  return (
    <ol className="steps" aria-label="steps">
      {lines.map((line, at) =>
        line.kind === "folded" ? (
          <li key={at} className="folded">
            <button type="button" className="quiet" onClick={() => unfold(true)}>
              {count(line.count, "step")} the same
            </button>
          </li>
        ) : (
          <li key={at} className={`step ${line.step.kind}${line.at === first ? " first" : ""}`}>
            <Side action={line.step.kind === "right" ? null : line.step.a} task={a} />
            <Side action={line.step.kind === "left" ? null : line.step.b} task={b} />
          </li>
        ),
      )}
    </ol>
  );
}

function Side({ action, task }: { action: Action | null; task: string }) {
  if (!action) return <span className="nothing" />;
  const [child] = action.tool.spawned;
  return (
    <span>
      <Status status={action.tool.status} /> <b>{firstLine(action.name, 30)}</b> {visible(action.text)}{" "}
      {child && <Link to={taskView(child)}>its task</Link>}
      <span className="unseen">{task}</span>
    </span>
  );
}
