/** Every model call, newest first, as in a browser's network panel. */
import { useEffect } from "react";
import { api } from "../api/client";
import { CallsTable } from "../panes/CallsTable";
import { Details } from "../panes/Details";
import { FilterBox } from "../ui/FilterBox";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer } from "../ui/hooks";
import { useNavigation } from "../ui/navigation";

const KINDS = ["main", "subagent", "utility"];
const STATUSES = ["running", "error", "aborted"];

export function CallsPage() {
  const { view, adjust } = useNavigation();
  const wanted = view.words.trim();
  const calls = useAnswer(() => api.calls({ kind: view.kind, status: view.status, filter: wanted, limit: 300 }), `${view.kind}:${view.status}:${wanted}`);
  useEffect(() => {
    document.title = "Model calls – Ramify";
  }, []);
  return (
    <section className="list-page wide" aria-label="model calls">
      <h1>Model calls</h1>
      <div className="filter">
        <FilterBox list="calls" label="filter model calls" placeholder="words, model:claude-opus*, tokens>100k, tool:Bash   /" value={view.words} change={(words) => adjust({ words })} />
        <span className="depths" role="group" aria-label="kind">
          {KINDS.map((kind) => (
            <button key={kind} type="button" aria-pressed={view.kind === kind} onClick={() => adjust({ kind: view.kind === kind ? "" : kind })}>
              {kind}
            </button>
          ))}
        </span>
        <span className="depths" role="group" aria-label="status">
          {STATUSES.map((status) => (
            <button key={status} type="button" aria-pressed={view.status === status} onClick={() => adjust({ status: view.status === status ? "" : status })}>
              {status}
            </button>
          ))}
        </span>
        <button type="button" className="quiet" onClick={calls.again}>
          refresh
        </button>
      </div>
      {calls.error && calls.error.code !== "bad_filter" && <Trouble error={calls.error} again={calls.again} />}
      <div className={`split${view.selected ? " with-details" : ""}`}>
        <div className="view">
          {calls.value ? calls.value.items.length ? <CallsTable calls={calls.value.items} showTask /> : <p className="empty">No such call was seen.</p> : calls.error ? null : <Loading />}
        </div>
        <Details />
      </div>
    </section>
  );
}
