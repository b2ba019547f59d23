/** Tokens, money, times and outcomes: by day as a plot, by model, agent, project or tool as a table. */
import { useEffect } from "react";
import { api } from "../api/client";
import type { Figures, SumsRow } from "../api/types.gen";
import { DayPlot } from "../panes/DayPlot";
import { count, duration, grouped, money, tokens } from "../state/format";
import type { Measure, Name } from "../state/plot";
import { MEASURES, NAMES, plotted } from "../state/plot";
import { firstLine } from "../state/text";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer } from "../ui/hooks";
import { useNavigation } from "../ui/navigation";
import "../styles/insights.css";

const TIMES: [string, string][] = [["7d", "a week"], ["30d", "a month"], ["90d", "a quarter"], ["all", "all"]];
const spelled: Record<Measure, (value: number) => string> = { cost: money, tokens: (value) => tokens(Math.round(value)), calls: (value) => grouped(Math.round(value)) };

export function StatisticsPage() {
  const { view, adjust } = useNavigation();
  const name = NAMES.find((one) => one === view.by) ?? "model";
  const since = TIMES.find(([word]) => word === view.since)?.[0] ?? "30d";
  const measure = MEASURES.find((one) => one === view.measure) ?? "cost";
  const answer = useAnswer(() => Promise.all([api.statistics(`day,${name}`, since), api.statistics(name, since), api.statistics("day", since)]), `${name} ${since}`);
  useEffect(() => {
    document.title = "Statistics – Ramify";
  }, []);
  return (
    <section className="list-page wide statistics" aria-label="statistics">
      <h1>Statistics</h1>
      <div className="filter">
        <Choice label="by" words={NAMES.map((one) => [one, one])} chosen={name} choose={(by) => adjust({ by })} />
        <Choice label="time" words={TIMES} chosen={since} choose={(word) => adjust({ since: word })} />
        <Choice label="measure" words={MEASURES.map((one) => [one, one])} chosen={measure} choose={(word) => adjust({ measure: word })} />
      </div>
      {answer.error && <Trouble error={answer.error} again={answer.again} />}
      {!answer.error && !answer.value && <Loading rows={8} />}
      {answer.value && answer.value[1].rows.length === 0 && <p className="empty">Nothing happened in this time. Days are counted in UTC; choose a longer time above.</p>}
      {answer.value && answer.value[1].rows.length > 0 && (
        <>
          <Plotted rows={answer.value[0].rows} name={name} measure={measure} />
          <Table label={`by ${name}`} column={name} rows={answer.value[1].rows} total={answer.value[1].total as SumsRow} />
          {name === "tool" && <p className="faint">The tokens of a model call are divided among the tools that it asked for.</p>}
          <h2>By day</h2>
          <Table label="by day" column="day" rows={[...answer.value[2].rows].reverse()} total={null} />
        </>
      )}
    </section>
  );
}

function Plotted({ rows, name, measure }: { rows: SumsRow[]; name: Name; measure: Measure }) {
  const plot = plotted(rows, name, measure);
  if (!plot.most) return <p className="empty">{measure === "cost" ? "No price is known for what was used: look at tokens instead." : "There is nothing to draw."}</p>;
  return <DayPlot plot={plot} measure={measure} spell={spelled[measure]} />;
}

interface ChoiceProperties {
  label: string;
  words: readonly (readonly [string, string])[];
  chosen: string;
  choose: (word: string) => void;
}

function Choice({ label, words, chosen, choose }: ChoiceProperties) {
  return (
    <span className="depths" role="group" aria-label={label}>
      {words.map(([word, shown]) => (
        <button key={word} type="button" aria-pressed={chosen === word} onClick={() => choose(word)}>
          {shown}
        </button>
      ))}
    </span>
  );
}

const KINDS = [["calls", "model calls"], ["tools", "tool uses"], ["tasks", "tasks"]] as const;

/** Only the kinds of which there are any. */
function Table({ label, column, rows, total }: { label: string; column: Name | "day"; rows: SumsRow[]; total: SumsRow | null }) {
  const kinds = KINDS.filter(([kind]) => rows.some((row) => row[kind]));
  const all = total && rows.length > 1 ? [...rows, { ...total, [column]: "all" }] : rows;
  return (
    <div className="scrolled" tabIndex={0} role="region" aria-label={label}>
      <table className="usage sums">
        <thead>
          <tr>
            <th scope="col">{column}</th>
            <th scope="col">tokens in</th>
            <th scope="col">out</th>
            <th scope="col">cost</th>
            {kinds.map(([kind, words]) => [
              <th key={kind} scope="col">
                {words}
              </th>,
              <th key={`${kind} good`} scope="col">
                went well
              </th>,
              <th key={`${kind} p50`} scope="col">
                p50
              </th>,
              <th key={`${kind} p95`} scope="col">
                p95
              </th>,
            ])}
          </tr>
        </thead>
        <tbody>
          {all.map((row, at) => (
            <tr key={at} className={at === rows.length ? "sum" : ""}>
              <th scope="row" title={row[column] ?? ""}>
                {firstLine(row[column] ?? "", 48)}
              </th>
              <td>{tokens(row.usage.input + row.usage.cache_read + row.usage.cache_write)}</td>
              <td>{tokens(row.usage.output)}</td>
              <td>{money(row.usage.cost_usd)}</td>
              {kinds.map(([kind]) => (
                <Cells key={kind} figures={row[kind]} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cells({ figures }: { figures: Figures | null }) {
  if (!figures) {
    return (
      <>
        <td />
        <td />
        <td />
        <td />
      </>
    );
  }
  const bad = figures.success !== null && figures.success < 0.9;
  return (
    <>
      <td>{grouped(figures.count)}</td>
      <td className={bad ? "worse" : ""} title={`${count(figures.failed, "failure")}, ${figures.canceled} canceled, ${figures.open} open`}>
        {figures.success === null ? "—" : `${(figures.success * 100).toFixed(figures.success === 1 ? 0 : 1)} %`}
      </td>
      <td>{duration(figures.p50_ms)}</td>
      <td>{duration(figures.p95_ms)}</td>
    </>
  );
}
