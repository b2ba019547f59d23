/** Two runs side by side: the server aligns them, this draws where they part and what differs. */
import { useEffect } from "react";
import { api } from "../api/client";
import type { Act, ComparedNode, ComparedRun, ComparedStep, Comparison, PartingPlace, PartingSide, SpentSince, Usage } from "../api/types.gen";
import { allTokens, count, duration, money, tokens } from "../state/format";
import { NO_PROMPT } from "../state/sources";
import { firstLine, visible } from "../state/text";
import { Status } from "../ui/Marks";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer } from "../ui/hooks";
import { Link, taskView, useNavigation } from "../ui/navigation";
import "../styles/insights.css";

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

function Compared({ a, b }: { a: string; b: string }) {
  const answer = useAnswer(() => api.compare(a, b), `${a} ${b}`);
  if (answer.error) return <Trouble error={answer.error} again={answer.again} />;
  if (!answer.value) return <Loading rows={10} />;
  const { parting, since, tasks, more } = answer.value;
  return (
    <>
      <Totals a={answer.value.a} b={answer.value.b} />
      <p className="lead" role="status">
        {verdict(answer.value)}
      </p>
      {parting && <Parting parting={parting} since={since} />}
      {parting && tasks.map((node, at) => <Node key={at} node={node} parting={parting} />)}
      {more && <p className="faint">More differs than is shown here: ramify compare has all of it.</p>}
    </>
  );
}

function verdict({ same, asked_the_same, parting }: Comparison): string {
  if (same) return asked_the_same ? "Both did the same, step by step." : "Both did the same, although they were asked different things.";
  const asked = asked_the_same ? "" : " They were asked different things.";
  if (parting?.depth === 0 && parting.passed === 0 && parting.kind !== "outcome") return `They part at the first step.${asked}`;
  if (parting?.depth === 0 && parting.kind !== "outcome") return `${count(parting.passed, "step")} ${parting.passed === 1 ? "is" : "are"} the same; then they part.${asked}`;
  return `They part${parting?.depth ? " in a sub-task" : " only at the end"}.${asked}`;
}

const FIGURES: [string, (run: ComparedRun) => number | null, (value: number | null) => string][] = [
  ["time", (run) => run.duration_ms, duration],
  ["tasks", (run) => run.tasks, (value) => String(value ?? "—")],
  ["model calls", (run) => run.tree_usage.calls, (value) => String(value ?? "—")],
  ["tool calls", (run) => run.tools, (value) => String(value ?? "—")],
  ["tokens", (run) => allTokens(run.tree_usage), (value) => tokens(value ?? 0)],
  ["cost of the tree", (run) => run.tree_usage.cost_usd, money],
];

function Totals({ a, b }: { a: ComparedRun; b: ComparedRun }) {
  return (
    <table className="usage totals">
      <thead>
        <tr>
          <th scope="col">
            <span className="unseen">figure</span>
          </th>
          {[a, b].map((run, at) => (
            <th key={at} scope="col">
              <Status status={run.status} /> <Link to={taskView(run.id)}>{firstLine(run.title || NO_PROMPT, 50)}</Link>
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
        <tr className="names">
          <th scope="row">models</th>
          <td>{firstLine(a.models.join(", "), 60)}</td>
          <td>{firstLine(b.models.join(", "), 60)}</td>
          <td>{a.models.join() === b.models.join() ? "same" : "other"}</td>
        </tr>
      </tbody>
    </table>
  );
}

/** The first decision that differs, with what each was thinking, and what came of it. */
function Parting({ parting, since }: { parting: PartingPlace; since: SpentSince | null }) {
  return (
    <section className="parting" aria-label="first difference">
      <h2>Where they part</h2>
      <p>{firstLine(parting.text, 300)}</p>
      <div className="sides">
        <Thought side={parting.a} />
        <Thought side={parting.b} />
      </div>
      {since && (
        <p>
          From there on the left one spent {spent(since.a)} on {count(since.a.calls, "call")}, the right one {spent(since.b)} on {since.b.calls}
          {since.more_usd ? `: ${money(Math.abs(since.more_usd))} ${since.more_usd > 0 ? "more" : "less"}` : ""}.
        </p>
      )}
    </section>
  );
}

const spent = (usage: Usage): string => (usage.cost_usd === null ? `${tokens(allTokens(usage))} tokens` : money(usage.cost_usd));

function Thought({ side }: { side: PartingSide | null }) {
  const call = side?.act?.call ?? null;
  const thoughts = useAnswer(call ? () => api.reasoning(call, false) : null, call ?? "");
  if (!side?.act) return <div className="faint">{side ? `did nothing here that the other did; it ended as ${side.status}` : "was not given this task"}</div>;
  return (
    <div>
      <p>
        <Status status={side.act.status} /> <b>{firstLine(side.act.name, 30)}</b> {visible(side.act.text)}
      </p>
      {thoughts.value?.items.map((one, at) => (
        <blockquote key={at}>{one.withheld ? "Reasoned; the text was withheld." : visible(one.text.slice(0, 600))}</blockquote>
      ))}
    </div>
  );
}

const SIGNS: Record<ComparedNode["kind"], [string, string]> = {
  same: ["=", "the same"],
  under: ["·", "the same itself"],
  changed: ["≠", "differs"],
  left: ["<", "only on the left"],
  right: [">", "only on the right"],
};

function Node({ node, parting }: { node: ComparedNode; parting: PartingPlace }) {
  const task = node.a ?? node.b;
  if (!task) return null;
  const [sign, words] = SIGNS[node.kind];
  const here = node.a?.id === parting.a?.task && node.b?.id === parting.b?.task;
  return (
    <section className={`compared-task ${node.kind}`} style={{ "--deep": Math.min(node.depth, 6) } as React.CSSProperties} aria-label={`${words}: ${firstLine(task.title || NO_PROMPT, 60)}`}>
      <p>
        <span className="mark" title={words} aria-hidden="true">
          {sign}
        </span>
        <b>{firstLine(task.agent, 30)}</b>
        {[node.a, node.b].map((one, at) => one && <Link key={at} to={taskView(one.id)}>{at === 0 || !node.a ? firstLine(one.title || NO_PROMPT, 70) : "the right one"}</Link>)}
        <span className="faint">
          {node.a ? money(node.a.tree_usage?.cost_usd) : "—"} | {node.b ? money(node.b.tree_usage?.cost_usd) : "—"}
        </span>
        {node.kind === "same" && node.size > 1 && <span className="faint">with {count(node.size - 1, "task")} under it</span>}
      </p>
      {node.steps.length > 0 && (
        <ol className="steps" aria-label="steps">
          {node.steps.map((step) => (
            <StepLine key={step.at} step={step} first={here && step.at === parting.passed} />
          ))}
        </ol>
      )}
    </section>
  );
}

function StepLine({ step, first }: { step: ComparedStep; first: boolean }) {
  if (step.kind === "folded") return <li className="folded faint">{count(step.count, "step")} the same</li>;
  return (
    <li className={`step ${step.kind}${first ? " first" : ""}`}>
      <Side act={step.a} />
      <Side act={step.b} />
    </li>
  );
}

function Side({ act }: { act: Act | null }) {
  if (!act) return <span className="nothing" />;
  const [child] = act.spawned;
  return (
    <span>
      <Status status={act.status} /> <b>{firstLine(act.name, 30)}</b> {visible(act.text)} {child && <Link to={taskView(child)}>its task</Link>}
    </span>
  );
}
