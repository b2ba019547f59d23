/** Captured text: as text, clipped, opened on a click; the copy button gives it as it was. */
import { useState } from "react";
import { grouped } from "../state/format";
import { clip, readable, visible } from "../state/text";

export function Copy({ text, label = "copy" }: { text: string | (() => string); label?: string }) {
  const [done, set] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      set("copied");
    } catch {
      set("not allowed");
    }
    setTimeout(() => set(""), 1500);
  };
  return (
    <button type="button" className="quiet copy" onClick={() => void copy()}>
      {done || label}
    </button>
  );
}

interface LongProperties {
  text: string;
  code?: boolean;
  lines?: number;
  label?: string;
}

export function LongText({ text, code = false, lines, label }: LongProperties) {
  const [whole, set] = useState(false);
  const cut = clip(text, lines);
  const hidden = cut.hiddenLines ? `${grouped(cut.hiddenLines)} more lines` : `${grouped(cut.hiddenCharacters)} more characters`;
  const shown = visible(whole ? text : cut.text);
  return (
    <div className={code ? "long code" : "long"}>
      {code ? (
        <pre aria-label={label} tabIndex={0}>
          {shown}
        </pre>
      ) : (
        <p>{shown}</p>
      )}
      {cut.hiddenCharacters > 0 && (
        <button type="button" className="quiet" onClick={() => set(!whole)}>
          {whole ? "show less" : `show ${hidden}`}
        </button>
      )}
    </div>
  );
}

export function Value({ value, label }: { value: unknown; label?: string }) {
  const text = readable(textOf(value));
  if (!text) return <p className="faint">nothing</p>;
  return <LongText text={text} code label={label} />;
}

/** A result that is only text blocks is its text. */
function textOf(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const texts = value.map((block: unknown) => (block as { type?: string; text?: string } | null)?.type === "text" ? (block as { text: string }).text : null);
  return texts.every((text) => text !== null) ? texts.join("\n") : value;
}
