/** Who did what: a plain table, newest first. */
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { AuditEntry } from "../api/types.gen";
import { dated } from "../state/format";
import { firstLine } from "../state/text";
import { Loading, Trouble } from "../ui/Trouble";
import { asApiError, useAnswer } from "../ui/hooks";
import { useNavigation } from "../ui/navigation";

const ACTS = [
  "link", "unlink", "withdraw", "forget", "prune", "redact", "export", "read-body", "read-observation", "sql", "answer", "cancel", "empty-session",
  "token-create", "token-revoke", "token-rotate", "login", "login-failed", "logout", "refused",
];

export function AuditPage() {
  const { view, adjust } = useNavigation();
  const key = `audit:${view.kind}:${view.agent}`;
  const first = useAnswer(() => api.audit({ act: view.kind, who: view.agent }), key);
  const [more, add] = useState<{ key: string; items: AuditEntry[]; next: string | null } | null>(null);
  const [problem, tell] = useState("");
  useEffect(() => {
    document.title = "Audit – Ramify";
  }, []);
  if (first.error) return <Trouble error={first.error} again={first.again} />;
  const rest = more?.key === key ? more : null;
  const items = [...(first.value?.items ?? []), ...(rest?.items ?? [])];
  const next = rest ? rest.next : (first.value?.next ?? null);
  const go = async () => {
    try {
      const page = await api.audit({ act: view.kind, who: view.agent, cursor: next });
      add({ key, items: [...(rest?.items ?? []), ...page.items], next: page.next });
    } catch (error) {
      tell(asApiError(error).message);
    }
  };
  return (
    <section className="list-page wide" aria-label="audit">
      <h1>Audit</h1>
      <div className="filter audit-filter">
        <label>
          what{" "}
          <select value={view.kind} onChange={(event) => adjust({ kind: event.target.value })}>
            <option value="">everything</option>
            {ACTS.map((act) => (
              <option key={act}>{act}</option>
            ))}
          </select>
        </label>
        {view.agent && (
          <span className="chip">
            by {firstLine(view.agent, 40)}{" "}
            <button type="button" className="quiet" aria-label="by everybody" onClick={() => adjust({ agent: "" })}>
              ×
            </button>
          </span>
        )}
      </div>
      {!first.value && <Loading rows={8} />}
      {first.value && items.length === 0 && !next && <p className="empty">Nothing was noted{view.kind || view.agent ? " that fits" : " yet: links, exports, raw bodies, SQL, tokens and logins are"}.</p>}
      {items.length > 0 && (
        <div className="table-room">
          <table className="audit">
            <thead>
              <tr>
                <th>when</th>
                <th>who</th>
                <th>did</th>
                <th>to</th>
                <th>from</th>
              </tr>
            </thead>
            <tbody>
              {items.map((one) => (
                <Row key={one.id} entry={one} only={() => adjust({ agent: one.who })} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {next && (
        <p>
          <button type="button" onClick={() => void go()}>
            show more
          </button>
        </p>
      )}
      {problem && <p className="trouble-line error">{problem}</p>}
    </section>
  );
}

function Row({ entry, only }: { entry: AuditEntry; only: () => void }) {
  const told = Object.entries(entry.more).map(([name, value]) => (name === entry.act ? value : `${name} ${value}`));
  return (
    <tr>
      <td>
        <time dateTime={entry.at ?? undefined} title={entry.at ?? undefined}>{dated(entry.at)}</time>
      </td>
      <td>
        <button type="button" className="quiet" title="only what they did" onClick={only}>
          {firstLine(entry.who, 40)}
        </button>
      </td>
      <td className={/failed|refused/.test(entry.act) ? "failed" : undefined}>{firstLine(entry.act, 40)}</td>
      <td>
        {entry.what && <code>{firstLine(entry.what, 80)}</code>} <span className="faint">{firstLine(told.join(", "), 160)}</span>
        {entry.project && <span className="chip">{firstLine(entry.project, 30)}</span>}
      </td>
      <td className="faint">{firstLine(`${entry.way} ${entry.address ?? ""}`, 60)}</td>
    </tr>
  );
}
