/** Whose events are looked at: choose a session, see how much it holds, ask its agents, empty it. */
import { useState } from "react";
import { api } from "../api/client";
import type { ApiError } from "../api/client";
import type { Reconciliation, SessionInfo } from "../api/types.gen";
import { age, bytes, count } from "../state/format";
import { firstLine } from "../state/text";
import { Dialog } from "../ui/Dialog";
import { Trouble } from "../ui/Trouble";
import { asApiError, useNow } from "../ui/hooks";
import { useNavigation } from "../ui/navigation";

interface Properties {
  sessions: SessionInfo[];
  /** The one that is looked at; null: all of them. */
  current: SessionInfo | null;
  /** Whether all of them can be looked at together. */
  all: boolean;
  changed: () => void;
}

export function SessionBar({ sessions, current, all, changed }: Properties) {
  const { go } = useNavigation();
  return (
    <div className="session-bar">
      <label hidden={sessions.length < 2}>
        session{" "}
        <select value={current?.session ?? ""} onChange={(event) => go({ session: event.target.value })}>
          {all && <option value="">all {sessions.length}</option>}
          {sessions.map((one) => (
            <option key={one.session} value={one.session}>
              {firstLine(one.session, 30)} ({count(one.eventCount, "event")})
            </option>
          ))}
        </select>
      </label>
      {current && <Info session={current} />}
      {current && <Reconcile session={current} changed={changed} />}
      {current && <Clear session={current} changed={changed} />}
    </div>
  );
}

function Info({ session }: { session: SessionInfo }) {
  const now = useNow(true);
  return (
    <span className="faint" role="group" aria-label="session info">
      session {firstLine(session.session, 30)}: {count(session.eventCount, "event")},{" "}
      {count(session.operationCount, "operation")}, {count(session.openTasks, "open task")}, {bytes(session.bytes)}, active {age(session.lastActiveAt, now)}
      {session.dropped && <span className="chip warning">{count(session.droppedEvents, "old event")} let go</span>}
      {session.expiresAt && ` · goes when silent until ${session.expiresAt.slice(11, 16)}`}
    </span>
  );
}

function Reconcile({ session, changed }: { session: SessionInfo; changed: () => void }) {
  const [state, set] = useState<{ busy: boolean; report: Reconciliation | null; error: ApiError | null }>({ busy: false, report: null, error: null });
  const ask = async () => {
    set({ busy: true, report: null, error: null });
    try {
      set({ busy: false, report: await api.reconcile(session.session), error: null });
      changed();
    } catch (error) {
      set({ busy: false, report: null, error: asApiError(error) });
    }
  };
  const { report } = state;
  return (
    <>
      <button type="button" disabled={state.busy} onClick={() => void ask()}>
        {state.busy ? "asking the agents…" : "Reconcile now"}
      </button>
      {report && (
        <div className="note report" role="status">
          Asked about {count(report.checked, "open task")}: {report.corrected} corrected, {report.unchanged} as known, {report.missing} unknown to their agents
          {report.anomalies > 0 && `, ${count(report.anomalies, "anomaly", "anomalies")}`}.
          {report.errors.map((error) => (
            <p key={error.agentId}>
              <b>{firstLine(error.agentId, 60)}</b>: {firstLine(error.reason, 200)}
            </p>
          ))}
          {report.unnamed.map((one) => (
            <p key={one.agentId}>
              <b>{firstLine(one.agentId, 60)}</b>: {one.reason} — {firstLine(one.hint, 200)}
            </p>
          ))}
        </div>
      )}
      {state.error && <Trouble error={state.error} again={() => void ask()} />}
    </>
  );
}

function Clear({ session, changed }: { session: SessionInfo; changed: () => void }) {
  const [asking, ask] = useState(false);
  const [error, fail] = useState<ApiError | null>(null);
  const clear = async () => {
    try {
      await api.clearSession(session.session);
      ask(false);
      changed();
    } catch (problem) {
      fail(asApiError(problem));
    }
  };
  return (
    <>
      <button type="button" className="quiet" onClick={() => ask(true)}>
        clear session…
      </button>
      {asking && (
        <Dialog label="clear this session?" close={() => ask(false)}>
          <h2>Clear session {firstLine(session.session, 40)}?</h2>
          <p>
            {count(session.eventCount + session.objectEventCount, "event")}, {count(session.operationCount, "operation")} and {count(session.taskCount, "task")} go. This cannot be undone; other sessions stay.
          </p>
          {error && <Trouble error={error} again={() => void clear()} />}
          <p className="acts">
            <button type="button" onClick={() => void clear()}>
              Clear it
            </button>
            <button type="button" autoFocus onClick={() => ask(false)}>
              Keep it
            </button>
          </p>
        </Dialog>
      )}
    </>
  );
}
