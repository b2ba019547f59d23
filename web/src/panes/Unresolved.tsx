/** A child that an agent named and nobody has shown: it keeps its place, and can be looked for again. */
import { useState } from "react";
import type { ApiError } from "../api/client";
import { api } from "../api/client";
import type { Reconciliation, Task } from "../api/types.gen";
import { count } from "../state/format";
import { firstLine } from "../state/text";
import { Trouble } from "../ui/Trouble";
import { asApiError } from "../ui/hooks";

export const isUnresolved = (task: Task): boolean => task.agent === null && task.status === "unknown" && task.refs.some((ref) => ref.protocol === "a2a" && ref.kind === "task" && !ref.scope);

export function Unresolved({ task, again }: { task: Task; again: () => void }) {
  const [state, set] = useState<{ busy: boolean; report: Reconciliation | null; error: ApiError | null }>({ busy: false, report: null, error: null });
  const look = async () => {
    set({ busy: true, report: null, error: null });
    try {
      const report = await api.reconcileAll();
      set({ busy: false, report, error: null });
      again();
    } catch (error) {
      set({ busy: false, report: null, error: asApiError(error) });
    }
  };
  return (
    <div className="note unresolved" role="status" aria-label="unresolved">
      <span>
        Named by the agent that announced it (<code>{firstLine(task.refs[0]?.value ?? "", 60)}</code>), and shown by no agent so far. Its traffic may pass elsewhere, or its agent was not named
        (<code>ramify serve --a2a NAME=URL</code>).
      </span>
      <button type="button" disabled={state.busy} onClick={() => void look()}>
        {state.busy ? "asking the agents…" : "Try again"}
      </button>
      {state.report && <span>Asked about {count(state.report.checked, "task")}; nobody has shown this one.{state.report.errors.map((error) => ` ${firstLine(error.agentId, 40)}: ${firstLine(error.reason, 120)}.`)}</span>}
      {state.error && <Trouble error={state.error} again={() => void look()} />}
    </div>
  );
}
