/** A conversation is forgotten: nothing is done before it was shown what goes, and a note says who wanted it. */
import { useState } from "react";
import { api } from "../api/client";
import type { Forgotten, Leaving } from "../api/types.gen";
import { count, dated } from "../state/format";
import { parting } from "../state/parting";
import type { Run } from "../state/run";
import { NO_PROMPT } from "../state/sources";
import { firstLine } from "../state/text";
import { Dialog } from "../ui/Dialog";
import { Loading, Trouble } from "../ui/Trouble";
import { asApiError, useAnswer } from "../ui/hooks";
import { fresh, useNavigation } from "../ui/navigation";
import { useTabs } from "../ui/tabs";

export function Forget({ id, run }: { id: string; run: Run }) {
  const [open, show] = useState(false);
  return (
    <>
      <button type="button" className="quiet" onClick={() => show(true)}>
        forget…
      </button>
      {open && <ForgetDialog id={id} run={run} close={() => show(false)} />}
    </>
  );
}

function ForgetDialog({ id, run, close }: { id: string; run: Run; close: () => void }) {
  const { go } = useNavigation();
  const leaving = useAnswer(() => api.leaving(id), id);
  const [gone, tell] = useState<Forgotten | null>(null);
  const { tabs, closeTab } = useTabs();
  const end = () => (gone ? go(fresh({ page: "runs" })) : close());
  const done = (answer: Forgotten) => {
    const nodes = run.tree?.nodes;
    for (const tab of tabs) if (nodes?.has(tab.id) || nodes?.has(tab.root)) closeTab(tab.id, false); // they show its titles
    tell(answer);
  };
  return (
    <Dialog label="forget this conversation" close={end}>
      <h2>{gone ? "Forgotten" : "Forget this conversation"}</h2>
      {leaving.error && <Trouble error={leaving.error} again={leaving.again} />}
      {!leaving.value && !leaving.error && <Loading rows={3} />}
      {gone && <Gone gone={gone} end={end} />}
      {leaving.value && !gone && <Ask leaving={leaving.value} run={run} done={done} close={close} />}
    </Dialog>
  );
}

function Ask({ leaving, run, done, close }: { leaving: Leaving; run: Run; done: (gone: Forgotten) => void; close: () => void }) {
  const [name, type] = useState("");
  const [busy, work] = useState(false);
  const [problem, trouble] = useState("");
  const forget = async () => {
    const wake = run.rest();
    work(true);
    trouble("");
    try {
      done(await api.forget(leaving.id, name.trim() ? `page, ${name.trim()}` : "page"));
    } catch (error) {
      trouble(`${asApiError(error).message}. ${asApiError(error).hint}`);
      work(false);
      wake();
    }
  };
  return (
    <form
      className="forget"
      onSubmit={(event) => {
        event.preventDefault();
        void forget();
      }}
    >
      <p>
        “{firstLine(leaving.title || NO_PROMPT, 120)}”{leaving.opened && `, ${dated(leaving.opened)}`}
      </p>
      <p role="alert" className="confirm">
        {parting(leaving)}
      </p>
      {leaving.working && <p className="trouble-line">It is still going on: what comes after would be seen again, with its history. End it first.</p>}
      <label>
        who asks for it, for the note that stays <input value={name} maxLength={60} onChange={(event) => type(event.target.value)} placeholder="a name, or nothing" />
      </label>
      <p className="acts">
        <button type="submit" className="danger" disabled={busy}>
          {busy ? "Forgetting…" : "Forget it for good"}
        </button>
        <button type="button" className="quiet" autoFocus onClick={close}>
          keep it
        </button>
      </p>
      {problem && (
        <p className="trouble-line error" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}

function Gone({ gone, end }: { gone: Forgotten; end: () => void }) {
  return (
    <>
      <p role="status">
        {count(gone.observations, "observation")} left the log{gone.pieces > 0 && `, and ${count(gone.pieces, "piece")} that nothing else is made of`}. A note stays on the Health page.
        {gone.shared > 0 && ` ${count(gone.shared, "observation")} that ${gone.shared === 1 ? "tells" : "tell"} of others too stayed.`}
      </p>
      <button type="button" autoFocus onClick={end}>
        to the runs
      </button>
    </>
  );
}
