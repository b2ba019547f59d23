/** A form as an agent's schema describes it; to fill in, or only to look at. */
import { useState } from "react";
import type { Field, Filled, Shape, Typed } from "../state/schema";
import { answerOf, fieldsOf } from "../state/schema";
import { firstLine, visible } from "../state/text";

interface Properties {
  schema: Shape;
  /** Without it the form is only shown. */
  send?: ((value: unknown) => void) | undefined;
  busy?: boolean;
}

export function SchemaForm({ schema, send, busy = false }: Properties) {
  const fields = fieldsOf(schema);
  const [filled, fill] = useState<Filled>({});
  const [wrong, blame] = useState<Record<string, string>>({});
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    const answer = answerOf(fields, filled);
    blame(answer.wrong);
    if (!Object.keys(answer.wrong).length) send?.(answer.value);
  };
  return (
    <form className="schema-form" onSubmit={submit} noValidate aria-label={firstLine(String(schema.title ?? "form"), 80)}>
      {typeof schema.title === "string" && <strong>{firstLine(schema.title, 120)}</strong>}
      <fieldset disabled={!send || busy}>
        {fields.map((field) => (
          <OneField key={field.key} field={field} typed={filled[field.key] ?? field.start} wrong={wrong[field.key]} type={(typed) => fill({ ...filled, [field.key]: typed })} />
        ))}
      </fieldset>
      {send && (
        <button type="submit" disabled={busy}>
          {busy ? "Sending…" : "Send"}
        </button>
      )}
    </form>
  );
}

interface FieldProperties {
  field: Field;
  typed: Typed;
  wrong: string | undefined;
  type: (typed: Typed) => void;
}

function OneField({ field, typed, wrong, type }: FieldProperties) {
  const id = `field-${field.key}`;
  const about = `${id}-about`;
  return (
    <div className="schema-field">
      <label htmlFor={id}>
        {visible(field.title).slice(0, 120)}
        {field.required && <span className="faint"> (needed)</span>}
      </label>
      <Control field={field} typed={typed} type={type} common={{ id, "aria-invalid": wrong !== undefined, "aria-describedby": about }} />
      <span id={about} className="faint">
        {wrong !== undefined && <span className="wrong">{wrong}. </span>}
        {visible(field.help)}
      </span>
    </div>
  );
}

interface ControlProperties {
  field: Field;
  typed: Typed;
  type: (typed: Typed) => void;
  common: { id: string; "aria-invalid": boolean; "aria-describedby": string };
}

function Control({ field, typed, type, common }: ControlProperties) {
  switch (field.kind) {
    case "boolean":
      return <input {...common} type="checkbox" checked={typed === true} onChange={(event) => type(event.target.checked)} />;
    case "choice":
      return (
        <select {...common} value={String(typed)} onChange={(event) => type(event.target.value)}>
          <option value="">choose…</option>
          {field.options.map((option) => (
            <option key={option.value} value={option.value}>
              {firstLine(option.words, 80)}
            </option>
          ))}
        </select>
      );
    case "choices":
      return (
        <select {...common} multiple value={Array.isArray(typed) ? typed : []} onChange={(event) => type([...event.target.selectedOptions].map((option) => option.value))}>
          {field.options.map((option) => (
            <option key={option.value} value={option.value}>
              {firstLine(option.words, 80)}
            </option>
          ))}
        </select>
      );
    case "long":
    case "json":
      return <textarea {...common} rows={3} value={String(typed)} placeholder={field.kind === "json" ? "JSON" : ""} onChange={(event) => type(event.target.value)} />;
    default:
      return <input {...common} type="text" inputMode={field.kind === "text" ? "text" : "decimal"} autoComplete="off" value={String(typed)} onChange={(event) => type(event.target.value)} />;
  }
}
