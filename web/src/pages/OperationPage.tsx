/** One operation: how it stands, and for each agent what was asked, answered, pushed and polled. */
import { useEffect } from "react";
import { api } from "../api/client";
import type { Operation, Task } from "../api/types.gen";
import { clock, count, duration } from "../state/format";
import type { AgentLine } from "../state/operations";
import { agentLines, headline, isOpen } from "../state/operations";
import { firstLine } from "../state/text";
import { toggle } from "../state/view";
import { Exchange, Told } from "../panes/KeptTurns";
import { SessionBar } from "../panes/SessionBar";
import { Flags, Status } from "../ui/Marks";
import { Copy } from "../ui/Text";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer, useNow } from "../ui/hooks";
import { Link, fresh, taskView, useNavigation } from "../ui/navigation";
import { AgentChip, useNews } from "./Operations";
import { NotFound } from "./Unknown";

export function OperationPage({ id }: { id: string }) {
  const { view } = useNavigation();
  const answer = useAnswer(() => api.operation(id, view.session), `${id} ${view.session}`);
  const sessions = useAnswer(() => api.sessions(), "sessions");
  const again = () => {
    answer.again();
    sessions.again();
  };
  useNews(again);
  const operation = answer.value?.operation ?? null;
  useEffect(() => {
    document.title = `${firstLine(operation?.operationId ?? "Operation", 60)} – Ramify`;
  }, [operation?.operationId]);
  if (answer.error?.status === 404) return <NotFound what={id} />;
  if (answer.error && !answer.value) return <Trouble error={answer.error} again={again} />;
  if (!answer.value) return <Loading rows={8} />;
  if (!operation) return <p className="empty">This operation is gone: its session was cleared.</p>;
  const session = sessions.value?.items.find((one) => one.session === operation.session) ?? null;
  return (
    <section className="list-page wide operation-page" aria-label={`operation ${firstLine(operation.operationId, 80)}`}>
      <nav className="crumbs" aria-label="breadcrumb">
        <Link to={fresh({ page: "operations" })}>Operations</Link> <span aria-hidden="true">›</span> <b>{firstLine(operation.operationId, 60)}</b>
      </nav>
      <Head operation={operation} />
      {session && <SessionBar sessions={[session]} current={session} all={false} changed={again} />}
      {answer.value.eventsTotal > answer.value.events.length && <p className="note">The first {count(answer.value.events.length, "event")} of {answer.value.eventsTotal}.</p>}
      {agentLines(answer.value).map((line) => (
        <Agent key={line.agent} line={line} few={operation.agents.length <= 2} />
      ))}
      {answer.value.objectEvents.length > 0 && <Objects events={answer.value.objectEvents} />}
    </section>
  );
}

function Head({ operation }: { operation: Operation }) {
  const now = useNow(isOpen(operation));
  const since = Date.parse(operation.startedAt ?? "");
  return (
    <header className="run-header">
      <h1>
        <Status status={operation.status} words /> <span>{firstLine(operation.operationId, 120)}</span>
      </h1>
      <p className="chips">
        <span>{headline(operation)}</span>
        <Flags flags={operation.flags} />
        <span className="faint">
          {clock(operation.startedAt)} – {operation.completedAt ? clock(operation.completedAt) : "now"} ({duration(isOpen(operation) && now - since < 86_400_000 ? now - since : operation.durationMs)})
        </span>
        <Link to={fresh({ page: "events", session: operation.session, operation: operation.operationId })}>{count(operation.eventCount, "event")}</Link>
        <Copy text={operation.operationId} label="copy id" />
        <Copy text={() => location.href} label="copy link" />
      </p>
    </header>
  );
}

/** The address remembers which agents are unfolded; of few, all are. */
function Agent({ line, few }: { line: AgentLine; few: boolean }) {
  const { view, adjust } = useNavigation();
  const open = view.toggled.includes(line.agent || "-") !== few;
  const name = firstLine(line.agent || "no agent named", 60);
  return (
    <section className="agent-line" aria-label={`agent ${name}`}>
      <header>
        <button type="button" className="quiet" aria-expanded={open} aria-label={`${open ? "fold" : "unfold"} ${name}`} onClick={() => adjust({ toggled: toggle(view.toggled, line.agent || "-") })}>
          {open ? "▾" : "▸"}
        </button>
        {line.share ? <AgentChip agent={line.agent} share={line.share} /> : <b>{name}</b>}
        <span className="faint">{count(line.events, "event")}</span>
        {line.share?.responseMs !== null && line.share?.responseMs !== undefined && <span className="faint">first answer after {duration(line.share.responseMs)}</span>}
        <Flags flags={line.flags} />
        {line.tasks.map((task) => (
          <TaskLink key={task.id} task={task} />
        ))}
      </header>
      {open && (
        <div className="told">
          {line.steps.map((step) =>
            step.kind === "exchange" ? <Exchange key={step.request.seq} request={step.request} answer={step.answer} /> : <Told key={step.event.seq} event={step.event} />,
          )}
        </div>
      )}
    </section>
  );
}

function TaskLink({ task }: { task: Task }) {
  return (
    <Link to={taskView(task.id)}>
      <Status status={task.status} /> {firstLine(task.title ?? "task", 40)}
      {task.subtasks > 0 && ` (${count(task.subtasks, "sub-task")})`}
    </Link>
  );
}

function Objects({ events }: { events: Parameters<typeof Told>[0]["event"][] }) {
  return (
    <section className="agent-line" aria-label="objects">
      <h3>Objects</h3>
      <table className="calls">
        <thead>
          <tr>
            {["time", "object", "id", "where", "status"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <tr key={event.seq}>
              <td>{clock(event.observedAt)}</td>
              <td>{firstLine(event.objectType ?? "", 40)}</td>
              <td>{firstLine(event.objectId ?? "", 60)}</td>
              <td>{firstLine(event.targetEntity ?? "", 60)}</td>
              <td>{event.status ? <Status status={event.status} words /> : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
