/** Turns of agents that talk to agents: what was said, thought and produced, and what the event log has. */
import type { Artifact, LoggedEvent, Task } from "../api/types.gen";
import { clock, duration } from "../state/format";
import type { KeptItem, Side } from "../state/kept";
import { bodyOf, typeWords } from "../state/logged";
import { piecesOf } from "../state/pieces";
import { roleWords } from "../state/sources";
import { firstLine } from "../state/text";
import { Flags, Status } from "../ui/Marks";
import { Value } from "../ui/Payload";
import { Pieces } from "../ui/Pieces";
import { Sides } from "../ui/Sides";
import { LongText } from "../ui/Text";
import { Link, taskView } from "../ui/navigation";

const LABELS: Record<Side, string> = {
  human: "human said", prompt: "prompt written by an agent", agent: "the agent said", unknown: "somebody said", system: "system said",
};
const AUTHORS: Record<Side, string> = { human: "a person", prompt: "an agent asked", agent: "", unknown: "a person, or the agent that asked", system: "the client" };

export function KeptTurn({ item, task }: { item: KeptItem; task: Task | null }) {
  switch (item.kind) {
    case "spoken":
      return <Spoken item={item} task={task} />;
    case "note":
      return <Note item={item} />;
    case "artifact":
      return <ArtifactCard artifact={item.artifact} />;
    case "step":
      return item.step.kind === "exchange" ? <Exchange request={item.step.request} answer={item.step.answer} /> : <Told event={item.step.event} />;
  }
}

function Spoken({ item, task }: { item: KeptItem & { kind: "spoken" }; task: Task | null }) {
  const { message, side } = item;
  return (
    <article className={`turn ${side}`} aria-label={LABELS[side]}>
      <header>
        <span className={`author${side === "prompt" || side === "agent" ? " agent-author" : ""}`} title={message.reason ?? ""}>
          {side === "agent" ? firstLine(task?.agent ?? "the agent", 40) : AUTHORS[side]}
        </span>
        {side === "prompt" && task?.link && <Link to={taskView(task.link.parent)}>the task that asked</Link>}
        {side !== "agent" && <span className="wire">{roleWords(message)}</span>}
        <time>{clock(message.timestamp)}</time>
        {item.again > 0 && <span className="faint">said {item.again + 1} times</span>}
      </header>
      {item.pieces.length ? <Pieces pieces={item.pieces} /> : <p className="faint">without words</p>}
    </article>
  );
}

function Note({ item }: { item: KeptItem & { kind: "note" } }) {
  return (
    <article className="turn note-turn" aria-label={item.note.kind}>
      <span className="chip">{item.note.kind}</span> <LongText text={item.note.text} lines={6} />
    </article>
  );
}

export function ArtifactCard({ artifact }: { artifact: Artifact }) {
  const pieces = piecesOf(artifact.parts);
  return (
    <article className="turn artifact" aria-label={`artifact ${firstLine(artifact.name || artifact.artifactId, 60)}`}>
      <header>
        <span className="chip">artifact</span> <b>{firstLine(artifact.name || artifact.artifactId, 80)}</b>
        {artifact.name !== artifact.artifactId && <code>{firstLine(artifact.artifactId, 60)}</code>}
        {artifact.partial && (
          <span className="chip warning" title="No source showed how it began">
            partial: its beginning was not seen
          </span>
        )}
        <time>{clock(artifact.timestamp)}</time>
      </header>
      {artifact.description && <p className="faint">{firstLine(artifact.description, 300)}</p>}
      {pieces.length ? <Pieces pieces={pieces} lines={30} /> : <p className="faint">being prepared: nothing in it yet</p>}
    </article>
  );
}

/** A request beside its answer. */
export function Exchange({ request, answer }: { request: LoggedEvent; answer: LoggedEvent | null }) {
  const took = answer ? Date.parse(answer.observedAt ?? "") - Date.parse(request.observedAt ?? "") : null;
  const asked = bodyOf(request);
  return (
    <article className="turn step exchange" aria-label={`call ${firstLine(request.taskType ?? "", 60)}`}>
      <StepHead event={request}>{took !== null && <span className="faint">{duration(took)}</span>}</StepHead>
      <Sides
        left={{ title: "request", body: asked === null ? <p className="faint">its content was not told</p> : <Value value={asked} label="request" /> }}
        right={{ title: answer ? <AnswerTitle event={answer} /> : "answer", body: answer ? <Answer event={answer} /> : <p className="faint">none was seen</p> }}
      />
    </article>
  );
}

function AnswerTitle({ event }: { event: LoggedEvent }) {
  return (
    <>
      {event.eventType === "protocol_error" ? "error" : "answer"} {event.status && <Status status={event.status} words />} <Flags flags={event.flags} />
    </>
  );
}

function Answer({ event }: { event: LoggedEvent }) {
  const body = bodyOf(event);
  return body === null ? <p className="faint">its content was not told</p> : <Value value={body} label="answer" />;
}

/** Something that was told by itself: a push, a poll, a step. It opens where it carried anything. */
export function Told({ event }: { event: LoggedEvent }) {
  const body = bodyOf(event);
  if (body === null) {
    return (
      <div className="turn step">
        <StepHead event={event} />
      </div>
    );
  }
  return (
    <details className="turn step">
      <summary>
        <StepHead event={event} />
      </summary>
      <Value value={body} label="payload" />
    </details>
  );
}

function StepHead({ event, children }: { event: LoggedEvent; children?: React.ReactNode }) {
  return (
    <span className="step-head">
      <time>{clock(event.observedAt)}</time>
      <b>{firstLine(typeWords(event), 40)}</b>
      {event.taskType && <span>{firstLine(event.taskType, 50)}</span>}
      {event.status && <Status status={event.status} words />}
      {event.native_status && event.native_status !== event.status && <span className="wire">{firstLine(event.native_status, 40)}</span>}
      <span className="chip">{event.source}</span>
      <Flags flags={event.flags} />
      {event.duplicateOf && <span className="faint">as number {event.duplicateOf}</span>}
      {children}
    </span>
  );
}
