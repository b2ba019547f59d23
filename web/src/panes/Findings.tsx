/** Findings, as a list and as marks on a run. */
import { api } from "../api/client";
import type { Finding } from "../api/types.gen";
import { age, count } from "../state/format";
import { NO_PROMPT } from "../state/sources";
import { firstLine } from "../state/text";
import { useAnswer } from "../ui/hooks";
import { Link, fresh, useNavigation } from "../ui/navigation";
import "../styles/insights.css";

const SHAPES: Record<Finding["severity"], string> = { error: "M8 2l6 12H2zM8 6.5v3.5M8 12v.1", warning: "M8 2.5a5.5 5.5 0 1 0 .01 0M8 5.5v3.2M8 10.8v.1", note: "M8 2.5a5.5 5.5 0 1 0 .01 0M8 7.4v3.4M8 5.2v.1" };

/** Shape and word and colour. */
export function Severity({ severity }: { severity: Finding["severity"] }) {
  return (
    <span className={`severity ${severity}`}>
      <svg viewBox="0 0 16 16" width="15" height="15" aria-hidden="true" fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" strokeLinejoin="round">
        <path d={SHAPES[severity]} />
      </svg>
      <span className="unseen">{severity}</span>
    </span>
  );
}

export function FindingRow({ found, now }: { found: Finding; now: number }) {
  return (
    <li className="finding">
      <Severity severity={found.severity} />
      <div>
        <p>
          <b>{found.check}</b> {firstLine(found.text, 300)}
        </p>
        <p className="about">
          <Link to={fresh({ page: "task", id: found.task })}>{firstLine(found.title || NO_PROMPT, 90)}</Link>
          <Evidence found={found} />
          <span className="faint">{firstLine(found.project, 30)}</span>
          <time dateTime={found.since ?? undefined}>{age(found.since, now)}</time>
        </p>
      </div>
    </li>
  );
}

const KINDS: [string, string][] = [["task_", "task"], ["call_", "call"], ["tool_", "tool"]];

/** What it rests on: each opens beside its task. */
function Evidence({ found }: { found: Finding }) {
  const others = found.evidence.filter((id) => id !== found.task).slice(0, 3);
  return others.map((id) => {
    const kind = KINDS.find(([start]) => id.startsWith(start))?.[1] ?? "task";
    const to = kind === "task" ? fresh({ page: "task", id }) : fresh({ page: "task", id: found.task, tab: "calls", selected: `${kind}:${id}` });
    return (
      <Link key={id} to={to} className="quiet">
        {kind === "task" ? "another task" : kind}
      </Link>
    );
  });
}

const MANY = 5000; // so many are only looked through when somebody asks for it on the page of findings

/** Beside a run: what somebody should look at in it. Those who are silent stand there anyway, and are counted by the second. */
export function RunFindings({ id, tasks, working }: { id: string; tasks: number; working: boolean }) {
  const { adjust } = useNavigation();
  const { value } = useAnswer(tasks > MANY ? null : () => api.lint({ id }), id, `${tasks}:${working}`);
  const found = (value?.items ?? []).filter((one) => one.check !== "stalled");
  if (!found.length) return null;
  return (
    <ul className="run-findings" aria-label={count(found.length, "finding")}>
      {found.slice(0, 4).map((one) => (
        <li key={one.id}>
          <Severity severity={one.severity} />
          <button type="button" className="quiet" onClick={() => adjust({ selected: `task:${one.task}` })}>
            {one.check}
          </button>{" "}
          {firstLine(one.text, 160)}
        </li>
      ))}
      {found.length > 4 && <li className="faint">and {found.length - 4} more: ramify lint {id}</li>}
    </ul>
  );
}
