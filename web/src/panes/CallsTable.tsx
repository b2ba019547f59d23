/** Model calls as a dense table: what each sent anew, what the cache gave, how long, how much. */
import type { Call } from "../api/types.gen";
import { clock, duration, money, tokens } from "../state/format";
import { onlyReported, took } from "../state/sources";
import { firstLine } from "../state/text";
import { Status } from "../ui/Marks";
import { useNavigation } from "../ui/navigation";

export function CallsTable({ calls, showTask = false }: { calls: Call[]; showTask?: boolean }) {
  const { view, adjust } = useNavigation();
  const longest = Math.max(1, ...calls.map((call) => call.duration_ms ?? 0));
  return (
    <div className="table-room" tabIndex={0} role="region" aria-label="model calls">
      <table className="calls">
        <thead>
          <tr>
            {["time", "status", "model", "kind", "first token", "took", "new", "cached", "written", "output", "stop", "cost"].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {calls.map((call) => (
            <tr key={call.id} className={view.selected === `call:${call.id}` ? "selected" : ""} onClick={() => adjust({ selected: `call:${call.id}` })}>
              <td>
                <button type="button" className="quiet" onClick={() => adjust({ selected: `call:${call.id}` })}>
                  {clock(call.opened)}
                </button>
              </td>
              <td>
                <Status status={call.status} words />
                {call.attempt > 1 && <span className="chip warning">attempt {call.attempt}</span>}
              </td>
              <td>{firstLine(call.model ?? "", 32)}</td>
              <td>
                {call.utility ?? call.kind}
                {onlyReported(call) && <span className="chip">reported</span>}
                {showTask && call.agent ? ` ${firstLine(call.agent, 10)}` : ""}
              </td>
              <td className="figure">{duration(call.first_token_ms)}</td>
              <td className="figure lasting">
                <i style={{ width: `${((call.duration_ms ?? 0) / longest) * 100}%` }} />
                <span>{duration(took(call))}</span>
              </td>
              <td className="figure">{tokens(call.usage.input)}</td>
              <td className="figure">{tokens(call.usage.cache_read)}</td>
              <td className="figure">{tokens(call.usage.cache_write)}</td>
              <td className="figure">{tokens(call.usage.output)}</td>
              <td>{firstLine(call.stop_reason ?? "", 20)}</td>
              <td className="figure">{money(call.usage.cost_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
