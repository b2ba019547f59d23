/** Operations board: one row each, a chip for every agent, open ones first. */
import { useEffect, useRef } from "react";
import { api } from "../api/client";
import { feed } from "../api/live";
import type { AgentShare, Operation } from "../api/types.gen";
import { age, count, duration } from "../state/format";
import { endedOf, failedOf, headline, isOpen, objectWords, openTasks, ordered } from "../state/operations";
import { firstLine } from "../state/text";
import { SessionBar } from "../panes/SessionBar";
import { FilterBox } from "../ui/FilterBox";
import { Flags, Status } from "../ui/Marks";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer, useNow } from "../ui/hooks";
import { Link, fresh, useNavigation } from "../ui/navigation";

const MOST = 500;
const NOBODY = { operation: "-", agent: "", kind: "", status: "", source: "", since: "" };

export function Operations() {
  const { view, adjust } = useNavigation();
  const wanted = view.words.trim();
  const list = useAnswer(() => api.operations({ session: view.session, filter: wanted, limit: MOST }), `operations:${view.session}:${wanted}`);
  const last = useRef(list.value);
  last.current = list.value ?? last.current; // what stood there stays until the next answer comes
  const sessions = useAnswer(() => api.sessions(), "sessions");
  const again = () => {
    list.again();
    sessions.again();
  };
  useNews(again);
  useEffect(() => {
    document.title = "Operations – Ramify";
  }, []);
  if (list.error && list.error.code !== "bad_filter" && !list.value) return <Trouble error={list.error} again={again} />;
  if (!last.current && !list.error) return <Loading rows={6} />;
  const shown = ordered(last.current?.items ?? []);
  const open = shown.filter(isOpen).length;
  const current = sessions.value?.items.find((one) => one.session === view.session) ?? null;
  return (
    <section className="list-page wide" aria-label="operations">
      <h1>
        Operations {open > 0 && <span className="chip">{open} open</span>}
      </h1>
      {sessions.value && sessions.value.items.length > 0 && <SessionBar sessions={sessions.value.items} current={current ?? only(sessions.value.items)} all={sessions.value.items.length > 1} changed={again} />}
      <div className="filter">
        <FilterBox list="operations" label="filter operations" placeholder="words, status:failed, agent:mcp_*, tool:get_products   /" value={view.words} change={(words) => adjust({ words })} />
        {wanted && !list.error && (
          <span className="faint" role="status">
            {count(shown.length, "operation")} {shown.length === 1 ? "fits" : "fit"}{" "}
            <button type="button" className="quiet" onClick={() => adjust({ words: "" })}>
              show all
            </button>
          </span>
        )}
      </div>
      {shown.length === 0 && wanted && !list.error && <p className="empty">Nothing fits.</p>}
      {shown.length === 0 && !wanted && (
        <p className="empty">
          No operation was seen yet: send events to <code>POST /api/events</code>, use <code>ramify.operation()</code> in a program, or <code>ramify import --format adcp FILE</code>.
        </p>
      )}
      <ul className="operations">
        {shown.map((one) => (
          <Row key={one.id} operation={one} session={sessions.value && sessions.value.items.length > 1 ? one.session : ""} />
        ))}
      </ul>
      {sessions.value?.items.map((one) => <Unattributed key={one.session} session={one.session} seq={one.lastSeq} />)}
    </section>
  );
}

const only = <One,>(items: One[]): One | null => (items.length === 1 ? (items[0] ?? null) : null);

/** Told when an operation changed; never more often than once in a while. */
export function useNews(again: () => void): void {
  useEffect(() => {
    feed.start();
    let timer: ReturnType<typeof setTimeout> | null = null;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = null;
        again();
      }, 700);
    };
    const leave = feed.listen({ changed: (_seq, changes) => changes.some((change) => change.operation ?? change.gone?.kind === "operation") && soon(), restart: soon });
    return () => {
      leave();
      if (timer) clearTimeout(timer);
    };
  }, []);
}

function Row({ operation, session }: { operation: Operation; session: string }) {
  const now = useNow(isOpen(operation));
  const open = openTasks(operation);
  return (
    <li>
      <Link to={fresh({ page: "operation", id: operation.id })}>
        <Status status={operation.status} words />
        <span className="title">{firstLine(operation.operationId, 80)}</span>
        <span className="faint">{operation.taskTypes.map((type) => firstLine(type, 40)).join(", ")}</span>
        {open > 0 && <span className="chip">{count(open, "open task")}</span>}
        {operation.objectCount > 0 && <span className="chip">{firstLine(objectWords(operation), 60)}</span>}
        <Flags flags={operation.flags} />
        {session && <span className="faint">{firstLine(session, 24)}</span>}
        <span className="room" />
        <span className="faint">{duration(operation.durationMs)}</span>
        <time dateTime={operation.updatedAt ?? undefined}>{age(operation.updatedAt, now)}</time>
      </Link>
      <p className="agent-chips" aria-label={headline(operation)}>
        {Object.entries(operation.byAgent).map(([agent, share]) => (
          <AgentChip key={agent} agent={agent} share={share} />
        ))}
      </p>
    </li>
  );
}

export function AgentChip({ agent, share }: { agent: string; share: AgentShare }) {
  const ended = endedOf(share);
  const failed = failedOf(share);
  return (
    <span className={`agent-chip${failed ? " bad" : ""}`} title={`${agent}: ${ended} of ${share.taskCount} ended`}>
      <Status status={share.status} /> <b>{firstLine(agent || "no agent", 30)}</b>{" "}
      <span className="faint">
        {ended}/{share.taskCount} · {duration(share.durationMs)}
      </span>
      {share.skewMs !== null && <span className="chip warning">clock {share.skewMs > 0 ? "+" : "−"}{duration(Math.abs(share.skewMs))}</span>}
    </span>
  );
}

/** Events that name no operation: nothing disappears. */
function Unattributed({ session, seq }: { session: string; seq: number }) {
  const events = useAnswer(() => api.events(session, NOBODY, { limit: 1000 }), session, seq);
  const found = events.value?.events.length ?? 0;
  if (!found) return null;
  return (
    <p className="note">
      <Link to={fresh({ page: "events", session, operation: "-" })}>
        Unattributed: {count(found, "event")} of session {firstLine(session, 30)} {found === 1 ? "names" : "name"} no operation
      </Link>
    </p>
  );
}
