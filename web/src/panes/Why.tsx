/** Why a task is linked as it is: rule, certainty, evidence, what lost; and a person's word over all of it. */
import { useState } from "react";
import { api } from "../api/client";
import { source } from "../api/source";
import type { Candidate, ExplainedLink, Witness } from "../api/types.gen";
import type { Moved } from "../state/moving";
import { sourceWords } from "../state/sources";
import { firstLine, visible } from "../state/text";
import { certaintyOf } from "../state/status";
import { Copy } from "../ui/Text";
import { Loading, Trouble } from "../ui/Trouble";
import { useAnswer } from "../ui/hooks";
import { Link, taskView } from "../ui/navigation";
import { MoveForm, Undo } from "./Relink";

export function Why({ kind, id }: { kind: string; id: string }) {
  const why = useAnswer(() => api.why(id), `${kind}:${id}`);
  if (why.error) return <Trouble error={why.error} again={why.again} />;
  if (!why.value) return <Loading />;
  return (
    <>
      {why.value.links.length === 0 && <p>Linked to nothing above it: {kind === "call" ? "this call begins a line of its own." : "no agent is known to have asked for it."}</p>}
      {why.value.links.map((link) => (
        <LinkStory key={`${link.kind}${link.parent}`} link={link} witnesses={why.value?.witnesses ?? []} />
      ))}
      {why.value.candidates.length > 0 && <Losers candidates={why.value.candidates} />}
      {!source.saved && kind === "task" && <Relink child={why.value.id} parent={why.value.links[0]?.parent ?? null} done={why.again} />}
    </>
  );
}

const SURE = { stated: "stated, certain", manual: "said by a person", inferred: "inferred", none: "" };

function LinkStory({ link, witnesses }: { link: ExplainedLink; witnesses: Witness[] }) {
  const kind = certaintyOf(link.certainty, link.rule);
  return (
    <section className={`link-story ${kind}`}>
      <h3>
        {link.kind} by <Link to={taskView(link.parent)}>{firstLine(link.parent, 40)}</Link>
      </h3>
      <p>
        {link.explanation ? `Linked because ${link.explanation}` : "Linked"}: {SURE[kind]}, by the rule <code>{link.rule}</code>.
      </p>
      <p className="meter">
        <span>certainty {link.certainty}</span> <meter min={0} max={1} value={link.certainty} aria-label="certainty" />
      </p>
      {link.via && (
        <p>
          through the tool call <code>{firstLine(link.via, 60)}</code> <Copy text={link.via} />
        </p>
      )}
      <h4>Evidence</h4>
      <ul className="refs sightings">
        {link.evidence.map((one) => (
          <Evidence key={one} id={one} needle={link.via ?? ""} witness={witnesses.find((other) => other.observation === one)} />
        ))}
      </ul>
    </section>
  );
}

/** What the link rests on and who saw it, opened on a click, with the decisive id marked where it occurs. */
function Evidence({ id, needle, witness }: { id: string; needle: string; witness: Witness | undefined }) {
  const [open, set] = useState(false);
  const seen = useAnswer(open ? () => api.observation(id) : null, `${id}:${open}`);
  return (
    <li>
      <button type="button" className="quiet" aria-expanded={open} onClick={() => set(!open)}>
        {open ? "▾" : "▸"} {witness ? sourceWords(witness.source) : "seen"} <code>{firstLine(id, 50)}</code>
      </button>
      {witness?.rule && (
        <span className="faint">
          {witness.explanation ?? "it says"} (<code>{witness.rule}</code>)
        </span>
      )}
      {seen.error && <span className="faint">{seen.error.message}</span>}
      {seen.value && (
        <pre className="evidence" tabIndex={0}>
          {firstLine(seen.value.line, 200)}
          {"\n"}
          <Around text={seen.value.body} needle={needle} />
        </pre>
      )}
    </li>
  );
}

const NEAR = 600;

function Around({ text, needle }: { text: string; needle: string }) {
  const at = needle ? text.lastIndexOf(needle) : -1;
  if (at < 0) return <>{visible(text.slice(0, 2 * NEAR))}</>;
  return (
    <>
      {at > NEAR ? "… " : ""}
      {visible(text.slice(Math.max(0, at - NEAR), at))}
      <mark>{visible(needle)}</mark>
      {visible(text.slice(at + needle.length, at + NEAR))}
    </>
  );
}

function Losers({ candidates }: { candidates: Candidate[] }) {
  return (
    <section>
      <h3>What lost</h3>
      <ul className="losers">
        {candidates.map((one, at) => (
          <li key={at}>
            <code>{firstLine(one.parent, 40)}</code> by <code>{one.rule}</code>
            {one.explanation ? ` (${one.explanation})` : ""}, certainty {one.certainty}: {firstLine(one.rejected_because, 200)}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Relink({ child, parent, done }: { child: string; parent: string | null; done: () => void }) {
  const [moved, keep] = useState<Moved | null>(null);
  return (
    <section>
      <h3>Is this wrong?</h3>
      <MoveForm
        ids={[child]}
        unlink={parent !== null}
        done={(moved) => {
          keep(moved);
          done();
        }}
      />
      {moved && (
        <Undo
          moved={moved}
          done={() => {
            keep(null);
            done();
          }}
        />
      )}
    </section>
  );
}
