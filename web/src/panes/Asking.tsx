/** A task that waits for somebody: its form or a box for words, and nothing for secrets. Canceling asks first. */
import { useState } from "react";
import type { ApiError } from "../api/client";
import { api } from "../api/client";
import type { Cancellation, Task } from "../api/types.gen";
import { count } from "../state/format";
import { keptProtocol } from "../state/kept";
import type { Question } from "../state/question";
import { isDone } from "../state/status";
import { firstLine, visible } from "../state/text";
import { Dialog } from "../ui/Dialog";
import { SchemaForm } from "../ui/SchemaForm";
import { Copy } from "../ui/Text";
import { Trouble } from "../ui/Trouble";
import { asApiError } from "../ui/hooks";

export function Asking({ task, question }: { task: Task; question: Question }) {
  const [state, set] = useState<{ busy: boolean; sent: boolean; error: ApiError | null }>({ busy: false, sent: false, error: null });
  const [words, type] = useState("");
  const send = async (body: { text: string } | { data: unknown }) => {
    set({ busy: true, sent: false, error: null });
    try {
      await api.answer(task.id, body);
      type("");
      set({ busy: false, sent: true, error: null });
    } catch (error) {
      set({ busy: false, sent: false, error: asApiError(error) });
    }
  };
  if (question.kind === "login") return <Login question={question} agent={task.agent ?? "the agent"} />;
  return (
    <section className="asking" aria-label="answer">
      <p>
        <b>{firstLine(task.agent ?? "The agent", 40)}</b> waits for an answer.
      </p>
      {question.schema ? (
        <SchemaForm schema={question.schema} busy={state.busy} send={(data) => void send({ data })} />
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (words.trim()) void send({ text: words });
          }}
        >
          <textarea aria-label="your answer" rows={3} value={words} disabled={state.busy} onChange={(event) => type(event.target.value)} />
          <button type="submit" disabled={state.busy || !words.trim()}>
            {state.busy ? "Sending…" : "Send"}
          </button>
        </form>
      )}
      {state.sent && <p role="status">Sent. What the agent makes of it shows above.</p>}
      {state.error && <Trouble error={state.error} again={() => set({ ...state, error: null })} />}
    </section>
  );
}

function Login({ question, agent }: { question: Question; agent: string }) {
  return (
    <section className="asking" aria-label="login">
      <p>
        <b>{firstLine(agent, 40)}</b> waits for a login, at the place that it names. Secrets are not passed on from here.
      </p>
      <ul>
        {question.links.map((link) => (
          <li key={link}>
            <a href={link} target="_blank" rel="noopener noreferrer">
              {visible(link).slice(0, 300)}
            </a>{" "}
            <Copy text={link} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** For tasks that an A2A agent can be asked about. */
export function Cancel({ task, status }: { task: Task; status: string }) {
  const [asking, ask] = useState(false);
  const [state, set] = useState<{ busy: boolean; items: Cancellation[] | null; error: ApiError | null }>({ busy: false, items: null, error: null });
  if (keptProtocol(task) !== "a2a" || task.agent === null || (isDone(status) && !state.items)) return null;
  const cancel = async () => {
    set({ busy: true, items: null, error: null });
    try {
      set({ busy: false, items: (await api.cancel(task.id)).items, error: null });
    } catch (error) {
      set({ busy: false, items: null, error: asApiError(error) });
    }
  };
  const open = () => {
    set({ busy: false, items: null, error: null });
    ask(true);
  };
  return (
    <>
      {!isDone(status) && (
        <button type="button" className="quiet" onClick={open}>
          cancel…
        </button>
      )}
      {asking && (
        <Dialog label="cancel this task?" close={() => ask(false)}>
          <h2>Cancel this task?</h2>
          {state.items ? <Outcome items={state.items} /> : <p>Its agent is asked to cancel “{firstLine(task.title ?? "", 80)}”, and then what it started and is still open. The agents decide; nothing here is deleted.</p>}
          {state.error && <Trouble error={state.error} again={() => void cancel()} />}
          <p className="acts">
            {!state.items && !state.error && (
              <button type="button" disabled={state.busy} onClick={() => void cancel()}>
                {state.busy ? "asking…" : "Ask to cancel"}
              </button>
            )}
            <button type="button" autoFocus onClick={() => ask(false)}>
              {state.items ? "Close" : "Let it work"}
            </button>
          </p>
        </Dialog>
      )}
    </>
  );
}

function Outcome({ items }: { items: Cancellation[] }) {
  const asked = items.filter((item) => item.asked);
  return (
    <div role="status">
      <p>{count(asked.length, "task")} asked to cancel:</p>
      <ul>
        {items.map((item) => (
          <li key={item.task}>
            {firstLine(item.agent, 40)}: {item.error ? firstLine(item.error, 200) : item.asked ? (item.status ?? "unknown") : `over already (${item.status ?? "unknown"})`}
          </li>
        ))}
      </ul>
    </div>
  );
}
