/** A run to pass on: first what would be in it and what was redacted, then the file. */
import { useState } from "react";
import type { Subject, Wish } from "../api/client";
import { ApiError, api, saveExport } from "../api/client";
import type { ExportPreview } from "../api/types.gen";
import { bytes, count } from "../state/format";
import { firstLine } from "../state/text";
import { Dialog } from "../ui/Dialog";
import { Loading, Trouble } from "../ui/Trouble";
import { asApiError, useAnswer } from "../ui/hooks";

const FORMATS: [string, string, string][] = [
  ["html", "HTML", "one file that shows it like this page, without a server"],
  ["markdown", "Markdown", "a transcript to read"],
  ["jsonl", "JSONL", "the log of it, to be imported elsewhere without loss"],
  ["otlp", "OTLP", "spans for other backends"],
  ["parquet", "Parquet", "tables"],
];

export function Export({ subject, id }: { subject: Subject; id: string }) {
  const [open, set] = useState(false);
  return (
    <>
      <button type="button" className="quiet" aria-haspopup="dialog" onClick={() => set(true)}>
        export…
      </button>
      {open && <Offer subject={subject} id={id} close={() => set(false)} />}
    </>
  );
}

function Offer({ subject, id, close }: { subject: Subject; id: string; close: () => void }) {
  const [to, choose] = useState("html");
  const [results, keepResults] = useState(true);
  const [bodies, keepBodies] = useState(false);
  const [content, keepContent] = useState(false);
  const [saving, setSaving] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const wish: Wish = { to, ...(to === "html" || to === "markdown" ? { results } : {}), ...(to === "html" ? { bodies } : {}), ...(to === "otlp" ? { content } : {}) };
  const preview = useAnswer(() => api.exportPreview(subject, id, wish), JSON.stringify(wish));
  const save = () => {
    setSaving(true);
    setError(null);
    saveExport(subject, id, wish).then(close, (problem: unknown) => {
      setSaving(false);
      setError(asApiError(problem));
    });
  };
  return (
    <Dialog label="export" close={close}>
      <h2>Export this run</h2>
      <fieldset className="formats">
        <legend>What kind of file?</legend>
        {FORMATS.map(([name, word, meaning]) => (
          <label key={name}>
            <input type="radio" name="format" checked={to === name} onChange={() => choose(name)} /> <b>{word}</b> <span className="faint">{meaning}</span>
          </label>
        ))}
      </fieldset>
      {(to === "html" || to === "markdown") && <Choice words="with what tools gave back" chosen={results} choose={keepResults} />}
      {to === "html" && <Choice words="with requests and answers as they were on the wire" chosen={bodies} choose={keepBodies} />}
      {to === "otlp" && <Choice words="with what was said" chosen={content} choose={keepContent} />}
      {preview.error ? <Trouble error={preview.error} again={preview.again} /> : preview.value ? <Preview preview={preview.value} /> : <Loading />}
      {error && <Trouble error={error} again={save} />}
      <p>
        <button type="button" disabled={saving || !preview.value} onClick={save}>
          {saving ? "saving…" : "Save the file"}
        </button>{" "}
        <button type="button" className="quiet" onClick={close}>
          cancel
        </button>
      </p>
    </Dialog>
  );
}

function Choice({ words, chosen, choose }: { words: string; chosen: boolean; choose: (chosen: boolean) => void }) {
  return (
    <p>
      <label>
        <input type="checkbox" checked={chosen} onChange={(event) => choose(event.target.checked)} /> {words}
      </label>
    </p>
  );
}

function Preview({ preview }: { preview: ExportPreview }) {
  const held = Object.entries(preview.holds).filter(([, number]) => number > 0);
  const redacted = Object.entries(preview.redacted);
  const marks = redacted.reduce((sum, [, number]) => sum + number, 0);
  return (
    <section aria-label="what would be in it" className="export-preview">
      <p>
        {bytes(preview.bytes)}: {held.map(([name, number]) => count(number, name.replaceAll("_", " ").replace(/s$/, ""))).join(", ")}
      </p>
      <ul>
        {preview.contents.map((words) => (
          <li key={words}>{words}</li>
        ))}
        {preview.left_out.map((words) => (
          <li key={words}>
            <s>{words}</s> <span className="faint">left out</span>
          </li>
        ))}
      </ul>
      <p>
        {marks ? `${count(marks, "secret")} redacted: ${redacted.map(([name, number]) => `${firstLine(name, 40)} ×${number}`).join(", ")}.` : "Nothing had to be redacted."}{" "}
        What people typed and tools returned is not a secret by its form: look through it before you pass it on.
      </p>
    </section>
  );
}
