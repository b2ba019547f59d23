/** One model call: figures, what was new in it, and what it said. */
import { api } from "../api/client";
import type { Message } from "../api/types.gen";
import { clock, count, duration, money, tokens } from "../state/format";
import { onlyReported, roleWords, sourceWords, took } from "../state/sources";
import { firstLine } from "../state/text";
import { Status } from "../ui/Marks";
import { Value, Words } from "../ui/Payload";
import { Copy } from "../ui/Text";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer } from "../ui/hooks";
import { useNavigation } from "../ui/navigation";
import { RefList } from "./TaskDetails";

export function CallDetails({ id }: { id: string }) {
  const { value: call, error, again } = useAnswer(() => api.call(id), id);
  const { value: messages } = useAnswer(() => api.messages(id), id);
  const { adjust } = useNavigation();
  if (error) return <Trouble error={error} again={again} />;
  if (!call) return <Loading />;
  const { usage } = call;
  return (
    <>
      <h2>{firstLine(call.model ?? "model call", 80)}</h2>
      <p className="chips">
        <Status status={call.status} words />
        <span className="chip">{call.utility ?? call.kind}</span>
        {call.attempt > 1 && <span className="chip warning">attempt {call.attempt}</span>}
        {onlyReported(call) && call.sources.map((source) => <span key={source} className="chip">reported by {sourceWords(source)}</span>)}
        {call.stop_reason && <span className="chip">{firstLine(call.stop_reason, 30)}</span>}
      </p>
      {call.error && <p className="trouble-line error">{firstLine(call.error, 300)}</p>}
      <dl className="figures">
        <dt>asked</dt>
        <dd>{clock(call.opened)}</dd>
        <dt>first token</dt>
        <dd>{duration(call.first_token_ms)}</dd>
        <dt>took</dt>
        <dd>{duration(took(call))}</dd>
        <dt>input</dt>
        <dd>
          {tokens(usage.input)} new, {tokens(usage.cache_read)} from the cache, {tokens(usage.cache_write)} written to it
        </dd>
        <dt>output</dt>
        <dd>{tokens(usage.output)}</dd>
        <dt>cost</dt>
        <dd>{money(usage.cost_usd)}</dd>
      </dl>
      <p className="acts">
        {call.parent && (
          <button type="button" className="quiet" onClick={() => adjust({ selected: `call:${call.parent}` })}>
            the call before
          </button>
        )}
        <Copy text={call.id} label="copy id" />
      </p>
      <h3>
        New in this call <span className="faint">history as before: {count(Math.max(call.message_count - call.new_messages, 0), "message")}</span>
      </h3>
      {(messages?.items ?? []).map((message) => (
        <Spoken key={message.id} message={message} />
      ))}
      <RefList refs={call.refs} id={call.id} />
    </>
  );
}

function Spoken({ message }: { message: Message }) {
  return (
    <article className={`spoken ${message.author}`}>
      <header title={message.reason ?? ""}>
        <span className="author">{message.author_kind ?? message.author}</span>
        {message.role !== message.author && <span className="wire">{roleWords(message)}</span>}
      </header>
      {message.blocks.map((block, at) => (
        <BlockView key={at} block={block as Record<string, unknown>} />
      ))}
    </article>
  );
}

function BlockView({ block }: { block: Record<string, unknown> }) {
  const text = block.text ?? block.thinking;
  if (typeof text === "string" && text) return <Words text={text} lines={16} />;
  if (block.type === "thinking" || block.type === "redacted_thinking") return <p className="faint">Reasoned; the provider withheld the text.</p>;
  if (block.type === "tool_use") {
    return (
      <>
        <p>
          <b>{firstLine(String(block.name), 60)}</b>
        </p>
        <Value value={block.input} />
      </>
    );
  }
  if (block.type === "tool_result") return <Value value={block.content} />;
  return <Value value={[block]} />;
}
