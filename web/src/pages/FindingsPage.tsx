/** What people should look at, in the runs that were active last. */
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Seen } from "../api/client";
import type { Check, Findings, Hook } from "../api/types.gen";
import { FindingRow } from "../panes/Findings";
import { count } from "../state/format";
import { firstLine } from "../state/text";
import { Loading, Trouble } from "../ui/Trouble";
import { asApiError, useAnswer, useNow } from "../ui/hooks";
import { useNavigation } from "../ui/navigation";
import "../styles/insights.css";

export function FindingsPage() {
  const { view, adjust } = useNavigation();
  const now = useNow(true);
  const every = Math.floor(now / 10_000);
  const first = useAnswer(() => api.lint({}), "findings", every);
  const older = useOlder(first.value?.next ?? null);
  useEffect(() => {
    document.title = "Findings – Ramify";
  }, []);
  if (first.error && !first.value) return <Trouble error={first.error} again={first.again} />;
  if (!first.value) return <Loading rows={8} />;
  const items = [...first.value.items, ...older.pages.flatMap((page) => page.items)];
  const shown = items.filter((one) => !view.kind || one.check === view.kind);
  const looked = [first.value, ...older.pages].reduce((sum, page) => sum + page.looked, 0);
  return (
    <section className="list-page" aria-label="findings">
      <h1>Findings</h1>
      <p className="lead" role="status">
        {items.length ? `${count(items.length, "finding")} in the newest ${count(looked, "run")}.` : `Nothing to look at in the newest ${count(looked, "run")}.`}
      </p>
      {first.value.hook && <HookLine hook={first.value.hook} />}
      <Checks checks={first.value.checks} chosen={view.kind} choose={(kind) => adjust({ kind })} counted={(name) => items.filter((one) => one.check === name).length} />
      <ul className="findings">
        {shown.map((one) => (
          <FindingRow key={one.id} found={one} now={now} />
        ))}
      </ul>
      {older.error && <p className="trouble-line error">{firstLine(older.error, 200)}</p>}
      {older.next && (
        <button type="button" onClick={older.more}>
          look at older runs
        </button>
      )}
    </section>
  );
}

/** Pages behind the first one, which is asked for again as time goes by. */
function useOlder(start: string | null) {
  const [pages, set] = useState<Seen<Findings>[]>([]);
  const [error, fail] = useState("");
  const next = pages.length ? (pages.at(-1)?.next ?? null) : start;
  const more = () => {
    api.lint({ cursor: next }).then(
      (page) => set((known) => [...known, page]),
      (problem: unknown) => fail(asApiError(problem).message),
    );
  };
  return { pages, next, more, error };
}

interface ChecksProperties {
  checks: Check[];
  chosen: string;
  choose: (name: string) => void;
  counted: (name: string) => number;
}

function Checks({ checks, chosen, choose, counted }: ChecksProperties) {
  const one = checks.find((check) => check.name === chosen);
  return (
    <>
      <div className="filter">
        <span className="depths checks" role="group" aria-label="checks">
          {checks.map((check) => (
            <button key={check.name} type="button" aria-pressed={chosen === check.name} title={check.summary} onClick={() => choose(chosen === check.name ? "" : check.name)}>
              {check.name} {counted(check.name) || ""}
            </button>
          ))}
        </span>
      </div>
      {one && (
        <p className="note">
          Looked for: {one.summary}. What to do: {one.advice}.
        </p>
      )}
    </>
  );
}

function HookLine({ hook }: { hook: Hook }) {
  return (
    <p className={hook.failed || hook.problem ? "trouble-line error" : "faint"}>
      Told {hook.told} of them on{hook.waiting ? `, ${hook.waiting} wait` : ""}
      {hook.failed ? `, ${hook.failed} could not be told` : ""}
      {hook.problem ? `: ${firstLine(hook.problem, 160)}` : "."}
    </p>
  );
}
