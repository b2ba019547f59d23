/** What the agents of a run thought, explained and reported, by time. */
import { api } from "../api/client";
import type { Reasoning } from "../api/types.gen";
import { clock, count } from "../state/format";
import type { Run } from "../state/run";
import { NO_PROMPT } from "../state/sources";
import { firstLine } from "../state/text";
import { Filter } from "./Filter";
import { LongText } from "../ui/Text";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer } from "../ui/hooks";
import { Link, taskView, useNavigation } from "../ui/navigation";

const MOST = 5000;
const DRAWN = 500;
const KINDS = ["thinking", "explanation", "progress", "context"];

export function ReasoningPane({ run }: { run: Run }) {
  const { view, adjust } = useNavigation();
  const reasoning = useAnswer(() => api.reasoning(run.id, true, MOST), run.id, run.version());
  if (reasoning.error && !reasoning.value) return <Trouble error={reasoning.error} again={reasoning.again} />;
  if (!reasoning.value) return <Loading rows={8} />;
  const { items } = reasoning.value;
  const words = view.words.toLowerCase();
  const fits = (one: Reasoning) => (view.kind ? one.kind === view.kind : one.kind !== "context" || one.text !== "") && `${one.agent_name ?? ""} ${one.text}`.toLowerCase().includes(words);
  const shown = items.filter(fits);
  return (
    <section className="pane reading reasoning-pane" aria-label="reasoning" tabIndex={0}>
      <Filter shown={shown.length} all={items.length}>
        <span className="depths" role="group" aria-label="kind">
          {KINDS.filter((kind) => items.some((one) => one.kind === kind)).map((kind) => (
            <button key={kind} type="button" aria-pressed={view.kind === kind} onClick={() => adjust({ kind: view.kind === kind ? "" : kind })}>
              {kind} {items.filter((one) => one.kind === kind).length}
            </button>
          ))}
        </span>
      </Filter>
      {items.length === 0 && <p className="empty">No reasoning was seen in this run.</p>}
      <div className="told">
        {shown.slice(0, DRAWN).map((one, at) => (
          <Block key={`${one.message_id ?? ""}.${at}`} block={one} title={run.tree?.nodes.get(one.task ?? "")?.title ?? ""} />
        ))}
      </div>
      {shown.length > DRAWN && <p className="note">The first {count(DRAWN, "block")} of {shown.length}; words narrow them.</p>}
    </section>
  );
}

function Block({ block, title }: { block: Reasoning; title: string }) {
  const { adjust } = useNavigation();
  return (
    <article className="turn" aria-label={block.kind}>
      <header>
        <span className="chip">{block.kind}</span>
        <b>{firstLine(block.agent_name ?? "", 40)}</b>
        {block.task && <Link to={taskView(block.task)}>{firstLine(title || NO_PROMPT, 60)}</Link>}
        {block.model && <span>{firstLine(block.model, 40)}</span>}
        <time>{clock(block.timestamp)}</time>
        {block.call && (
          <button type="button" className="quiet" onClick={() => adjust({ selected: `call:${block.call}` })}>
            its call
          </button>
        )}
      </header>
      {block.withheld && !block.text ? <p className="faint">Reasoned; the provider withheld the text.</p> : block.text ? <LongText text={block.text} lines={14} /> : <p className="faint">What the model was given; no words of its own.</p>}
    </article>
  );
}
