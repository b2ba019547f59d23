/** Who did what when: a lane for each agent, an arrow where work was given, a dotted one where it came back. */
import { api } from "../api/client";
import type { Flow } from "../api/types.gen";
import { clock, count, timeWidth } from "../state/format";
import type { FlowRow } from "../state/flow";
import { fitting, flowPicture, kindsOf } from "../state/flow";
import type { Run } from "../state/run";
import { firstLine } from "../state/text";
import { Filter } from "./Filter";
import { Status } from "../ui/Marks";
import { Loading, Trouble } from "../ui/Trouble";
import { Virtual } from "../ui/Virtual";
import { rowId } from "../ui/Virtual";
import { useAnswer } from "../ui/hooks";
import { useKeys } from "../ui/keyboard";
import { useNavigation } from "../ui/navigation";

const MOST_ROOTS = 20;
const ROW = 30;

async function flowsOf(run: Run): Promise<Flow[]> {
  const roots = (run.tree?.roots ?? []).slice(0, MOST_ROOTS);
  return Promise.all(roots.map((root) => api.flow(root.id)));
}

export function FlowPane({ run }: { run: Run }) {
  const { view, adjust } = useNavigation();
  const flows = useAnswer(() => flowsOf(run), run.id, run.version());
  const picture = flowPicture((flows.value ?? []).flatMap((flow) => flow.events));
  const rows = fitting(picture.rows, view.kind, view.words);
  const active = rows.find((row) => row.selects !== null && row.selects === view.selected)?.key ?? null;
  const step = (by: 1 | -1) => {
    const at = rows.findIndex((row) => row.key === active);
    const next = rows[at < 0 ? 0 : at + by];
    if (next?.selects) adjust({ selected: next.selects });
  };
  useKeys({ next: () => step(1), previous: () => step(-1) });
  if (flows.error && !flows.value) return <Trouble error={flows.error} again={flows.again} />;
  if (!flows.value) return <Loading rows={8} />;
  const totals = flows.value.map((flow) => flow.totals);
  const open = flows.value.flatMap((flow) => flow.open).length;
  return (
    <section className="pane flow-pane" aria-label="flow" style={{ "--lanes": picture.lanes.length, "--time": timeWidth(picture.rows[0]?.event.timestamp) } as React.CSSProperties}>
      <Filter shown={rows.length} all={picture.rows.length}>
        <label className="chooser">
          kind{" "}
          <select value={view.kind} onChange={(event) => adjust({ kind: event.target.value })}>
            <option value="">all {picture.rows.length}</option>
            {kindsOf(picture.rows).map(([kind, number]) => (
              <option key={kind} value={kind}>
                {kind} {number}
              </option>
            ))}
          </select>
        </label>
        <span className="faint">
          {count(totals.reduce((sum, one) => sum + one.tasks, 0), "task")}, {count(totals.reduce((sum, one) => sum + one.tool_calls, 0), "tool call")}
          {open > 0 && `, ${open} still open`}
        </span>
      </Filter>
      <div className="flow-scroll" tabIndex={0} role="group" aria-label="lanes">
        <div className="flow-head" aria-hidden="true">
          <span className="flow-time">time</span>
          {picture.lanes.map((name) => (
            <b key={name}>{firstLine(name, 24)}</b>
          ))}
        </div>
        <Virtual
          label={`flow of ${count(picture.lanes.length, "lane")}`}
          role="grid"
          ids={rows.map((row) => row.key)}
          height={ROW}
          active={active}
          draw={(index) => {
            const row = rows[index];
            return row ? <OneRow key={row.key} row={row} lanes={picture.lanes} at={index} selected={row.key === active} select={() => row.selects && adjust({ selected: row.selects })} /> : null;
          }}
        />
      </div>
    </section>
  );
}

interface RowProperties {
  row: FlowRow;
  lanes: string[];
  at: number;
  selected: boolean;
  select: () => void;
}

function OneRow({ row, lanes, at, selected, select }: RowProperties) {
  const { event, lane, from } = row;
  const first = Math.min(lane, from ?? lane);
  const last = Math.max(lane, from ?? lane);
  const back = event.kind === "end";
  const whose = from === null || from === lane ? (lanes[lane] ?? "") : `${lanes[from] ?? ""} → ${lanes[lane] ?? ""}`;
  return (
    <div id={rowId(row.key)} className={`flow-row${selected ? " selected" : ""}`} role="row" aria-rowindex={at + 1} aria-selected={selected} style={{ height: ROW }} onClick={select}>
      <span className="flow-time" role="gridcell">
        {clock(event.timestamp)}
      </span>
      {from !== null && from !== lane && (
        <span
          aria-hidden="true"
          className={`flow-arrow${back ? " back" : ""}${from > lane ? " left" : ""}`}
          style={{ gridColumn: `${first + 2} / ${last + 2}` }}
        />
      )}
      <span role="gridcell" className={`flow-event kind-${event.kind}`} style={{ gridColumn: `${(from === null || event.kind !== "end" ? lane : from) + 2}` }} title={firstLine(event.text ?? "", 400)}>
        <span className="unseen">{whose}: </span>
        {event.status ? <Status status={event.status} /> : null}
        <i>{event.kind.replace("_", " ")}</i> {firstLine(event.text ?? "", 60)}
      </span>
    </div>
  );
}
