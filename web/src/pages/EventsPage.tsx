/** Every event of a session as it was stored, newest first and live; what is asked for stands in the address. */
import { useEffect, useMemo } from "react";
import { api } from "../api/client";
import type { LoggedEvent } from "../api/types.gen";
import { clock, timeWidth } from "../state/format";
import { EventFeed } from "../state/events";
import { bodyOf, typeWords } from "../state/logged";
import { firstLine } from "../state/text";
import type { View } from "../state/view";
import { SessionBar } from "../panes/SessionBar";
import { Flags, Status } from "../ui/Marks";
import { Value } from "../ui/Payload";
import { Copy } from "../ui/Text";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer, useStore } from "../ui/hooks";
import { Link, fresh, taskView, useNavigation } from "../ui/navigation";

export function EventsPage() {
  const { view } = useNavigation();
  const sessions = useAnswer(() => api.sessions(), "sessions");
  useEffect(() => {
    document.title = "Events – Ramify";
  }, []);
  if (sessions.error && !sessions.value) return <Trouble error={sessions.error} again={sessions.again} />;
  if (!sessions.value) return <Loading rows={8} />;
  const { items } = sessions.value;
  const current = items.find((one) => one.session === view.session) ?? (view.session ? null : (items[0] ?? null));
  const name = view.session || current?.session || "local";
  return (
    <section className="list-page wide" aria-label="events">
      <h1>Events</h1>
      {items.length > 0 && <SessionBar sessions={items} current={current} all={false} changed={sessions.again} />}
      <Feed key={`${name}\n${view.operation}\n${view.agent}\n${view.kind}\n${view.status}\n${view.source}\n${view.since}`} session={name} />
    </section>
  );
}

const WORDS: [keyof View & ("operation" | "agent" | "kind" | "status" | "source" | "since"), string][] = [
  ["operation", "operation"], ["agent", "agent"], ["kind", "type"], ["status", "status"], ["source", "source"], ["since", "since"],
];

function Feed({ session }: { session: string }) {
  const { view, adjust } = useNavigation();
  const { operation, agent, kind, status, source, since } = view;
  const feed = useMemo(() => new EventFeed(session, { operation, agent, kind, status, source, since }), [session, operation, agent, kind, status, source, since]);
  useStore(feed);
  useEffect(() => feed.open(), [feed]);
  const filtered = WORDS.filter(([field]) => view[field]);
  return (
    <>
      <div className="filter">
        <Chooser label="type" field="kind" choices={["protocol_request", "protocol_response", "status_update", "protocol_error", "progress", "webhook_received", "reconciliation"]} />
        <Chooser label="source" field="source" choices={["client", "webhook", "poll", "listing", "stream", "reconciler"]} />
        <Chooser label="status" field="status" choices={["submitted", "working", "input-required", "completed", "failed", "canceled", "rejected"]} />
        <Since />
        {filtered.map(([field, words]) => (
          <button key={field} type="button" className="pill" onClick={() => adjust({ [field]: "" })}>
            {words}: {view[field] === "-" ? "none" : firstLine(view[field], 40)} ✕
          </button>
        ))}
        <span className="room" />
        <Mark state={feed.state} />
      </div>
      {feed.error && <Trouble error={feed.error} again={() => void feed.load()} />}
      {feed.cleared && <p className="note">The session was cleared; what came later is shown.</p>}
      {feed.gap && (
        <p className="note">
          Numbers {feed.gap.from} to {feed.gap.to} were let go before they could be read.
        </p>
      )}
      {!feed.loaded && <Loading rows={8} />}
      {feed.loaded && feed.events.length === 0 && !feed.error && <p className="empty">{filtered.length ? "No event fits." : "No event was seen in this session yet."}</p>}
      <ol className="events" aria-label="events, newest first" reversed style={{ "--time": timeWidth(feed.events.at(-1)?.recordedAt) } as React.CSSProperties}>
        {feed.events.map((event) => (
          <Row key={event.seq} event={event} session={session} />
        ))}
      </ol>
      {feed.older && feed.events.length > 0 && (
        <button type="button" onClick={() => void feed.more()}>
          Show older ones
        </button>
      )}
    </>
  );
}

function Mark({ state }: { state: EventFeed["state"] }) {
  return (
    <span className={`live${state === "live" ? " on" : ""}`} role="status" aria-label="stream">
      {state === "live" ? "streaming" : state === "polling" ? "the stream broke: asking every 5 s" : "loading"}
    </span>
  );
}

function Chooser({ label, field, choices }: { label: string; field: "kind" | "source" | "status"; choices: string[] }) {
  const { view, adjust } = useNavigation();
  return (
    <label className="chooser">
      {label}{" "}
      <select value={view[field]} onChange={(event) => adjust({ [field]: event.target.value })}>
        <option value="">any</option>
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
        {view[field] && !choices.includes(view[field]) && <option>{view[field]}</option>}
      </select>
    </label>
  );
}

const AGO: [string, number][] = [["5 minutes ago", 300], ["an hour ago", 3600], ["a day ago", 86_400]];

/** The address holds the moment itself: whoever opens it later sees the same events. */
function Since() {
  const { adjust } = useNavigation();
  const choose = (seconds: number) => adjust({ since: seconds ? new Date(Date.now() - seconds * 1000).toISOString() : "" });
  return (
    <label className="chooser">
      since{" "}
      <select value="" onChange={(event) => choose(Number(event.target.value))}>
        <option value="">any time</option>
        {AGO.map(([words, seconds]) => (
          <option key={words} value={seconds}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

function Row({ event, session }: { event: LoggedEvent; session: string }) {
  const { adjust } = useNavigation();
  const body = bodyOf(event);
  return (
    <li value={event.seq}>
      <details>
        <summary>
          <span className="seq">{event.seq}</span>
          <time>{clock(event.recordedAt)}</time>
          <b>{firstLine(typeWords(event), 30)}</b>
          {event.status ? <Status status={event.status} words /> : <span />}
          <span className="who">{firstLine(event.agentId ?? "no agent", 40)}</span>
          <span className="what">{firstLine(event.taskType ?? "", 40)}</span>
          <span className="chip">{event.source}</span>
          <span className="marks">
            <Flags flags={event.flags} />
            {event.duplicateOf && <span className="chip warning">as number {event.duplicateOf}</span>}
          </span>
        </summary>
        <p className="acts">
          {event.operationId ? (
            <button type="button" className="quiet" onClick={() => adjust({ operation: event.operationId ?? "" })}>
              only {firstLine(event.operationId, 40)}
            </button>
          ) : (
            <span className="faint">names no operation</span>
          )}
          {event.agentId && (
            <button type="button" className="quiet" onClick={() => adjust({ agent: event.agentId ?? "" })}>
              only {firstLine(event.agentId, 40)}
            </button>
          )}
          {event.recordedAt && (
            <button type="button" className="quiet" onClick={() => adjust({ since: event.recordedAt ?? "" })}>
              only since then
            </button>
          )}
          {event.operationId && <Link to={fresh({ page: "operation", id: event.operationId, session })}>its operation</Link>}
          {event.task && <Link to={taskView(event.task)}>its task</Link>}
          <Copy text={event.eventId} label="copy id" />
        </p>
        {body === null ? <p className="faint">It carried no content.</p> : <Value value={body} label="payload" />}
      </details>
    </li>
  );
}

