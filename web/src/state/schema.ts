/** A form from a JSON Schema that an agent sent. It is foreign: bounded, its patterns are told and never run, what is odd becomes JSON. */

export type Shape = Record<string, unknown>;
export type Kind = "text" | "long" | "number" | "integer" | "boolean" | "choice" | "choices" | "json";

export interface Field {
  /** Where its value goes; also its key. */
  path: string[];
  key: string;
  title: string;
  help: string;
  required: boolean;
  kind: Kind;
  /** The values to choose from, as JSON, and their words. */
  options: { value: string; words: string }[];
  least: number | null;
  most: number | null;
  start: Typed;
}

/** As a form holds it: text as it was typed, a switch, or several choices. */
export type Typed = string | boolean | string[];
export type Filled = Record<string, Typed>;

const MOST_FIELDS = 60;
const DEEPEST = 4;

export const isShape = (value: unknown): value is Shape => typeof value === "object" && value !== null && !Array.isArray(value);
const word = (value: unknown): string => (typeof value === "string" ? value : "");
const figure = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);

/** The fields of a form, in the schema's order. A schema that is no object is one field of its own. */
export function fieldsOf(schema: Shape): Field[] {
  const found: Field[] = [];
  gather(schema, schema, [], true, found, 0);
  return found;
}

function gather(schema: Shape, whole: Shape, path: string[], required: boolean, found: Field[], depth: number): void {
  const own = resolved(schema, whole);
  const properties = isShape(own.properties) ? Object.entries(own.properties) : [];
  if (!properties.length || depth >= DEEPEST) {
    if (found.length < MOST_FIELDS) found.push(fieldOf(own, path, required));
    return;
  }
  const needed = Array.isArray(own.required) ? own.required : [];
  for (const [name, inner] of properties) {
    if (isShape(inner)) gather(inner, whole, [...path, name], required && needed.includes(name), found, depth + 1);
  }
}

/** References inside the schema itself; nothing is fetched. */
function resolved(schema: Shape, whole: Shape): Shape {
  let own = schema;
  for (let step = 0; step < DEEPEST && typeof own.$ref === "string" && own.$ref.startsWith("#/"); step += 1) {
    const target = own.$ref.slice(2).split("/").reduce<unknown>((place, name) => (isShape(place) && Object.hasOwn(place, name) ? place[name] : null), whole);
    if (!isShape(target)) break;
    own = target;
  }
  return own;
}

function fieldOf(schema: Shape, path: string[], required: boolean): Field {
  const kind = kindOf(schema);
  const [least, most] = kind === "text" || kind === "long" ? [figure(schema.minLength), figure(schema.maxLength)] : [figure(schema.minimum), figure(schema.maximum)];
  return {
    path,
    key: JSON.stringify(path),
    title: word(schema.title) || path.join(" › ") || "answer",
    help: [word(schema.description), word(schema.pattern) && `written like ${word(schema.pattern)}`, word(schema.format)].filter(Boolean).join(" · ").slice(0, 400),
    required,
    kind,
    options: optionsOf(kind === "choices" && isShape(schema.items) ? schema.items : schema),
    least,
    most,
    start: startOf(schema.default, kind),
  };
}

const typeOf = (schema: Shape): string => (Array.isArray(schema.type) ? word(schema.type.find((one) => one !== "null")) : word(schema.type));

function kindOf(schema: Shape): Kind {
  if (optionsOf(schema).length) return "choice";
  switch (typeOf(schema)) {
    case "string":
      return (figure(schema.maxLength) ?? 0) > 200 || schema.format === "textarea" ? "long" : "text";
    case "number":
      return "number";
    case "integer":
      return "integer";
    case "boolean":
      return "boolean";
    case "array":
      return isShape(schema.items) && optionsOf(schema.items).length ? "choices" : "json";
    default:
      return "json";
  }
}

function optionsOf(schema: Shape): Field["options"] {
  const plain = Array.isArray(schema.enum) ? schema.enum.map((value: unknown) => ({ value, words: "" })) : [];
  const either = [schema.oneOf, schema.anyOf].find((list) => Array.isArray(list) && list.length > 0 && list.every((one) => isShape(one) && "const" in one)) as Shape[] | undefined;
  const named = (either ?? []).map((one) => ({ value: one.const, words: word(one.title) }));
  return [...plain, ...named].slice(0, 200).map(({ value, words }) => ({ value: JSON.stringify(value) ?? "null", words: words || (typeof value === "string" ? value : JSON.stringify(value)) }));
}

function startOf(value: unknown, kind: Kind): Typed {
  if (kind === "boolean") return value === true;
  if (kind === "choices") return Array.isArray(value) ? value.map((one) => JSON.stringify(one)) : [];
  if (value === undefined) return "";
  if (kind === "choice" || kind === "json") return JSON.stringify(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

export interface Answer {
  value: unknown;
  /** By the key of a field: what is wrong with it. */
  wrong: Record<string, string>;
}

/** What the form says, and what is wrong with it. Fields that were left empty are left out. */
export function answerOf(fields: Field[], filled: Filled): Answer {
  const wrong: Record<string, string> = {};
  let value: unknown = fields.length === 1 && !fields[0]?.path.length ? undefined : {};
  for (const field of fields) {
    const typed = filled[field.key] ?? field.start;
    const read = readField(field, typed);
    if ("wrong" in read) wrong[field.key] = read.wrong;
    else if (read.value !== undefined) {
      if (field.path.length) place(value as Shape, field.path, read.value);
      else value = read.value;
    }
  }
  return { value, wrong };
}

function place(into: Shape, path: string[], value: unknown): void {
  let at = into;
  for (const name of path.slice(0, -1)) {
    if (!Object.hasOwn(at, name)) define(at, name, {});
    at = at[name] as Shape;
  }
  define(at, path.at(-1) ?? "", value);
}

/** A field may be called `__proto__`. */
const define = (into: Shape, name: string, value: unknown) => Object.defineProperty(into, name, { value, enumerable: true, writable: true, configurable: true });

function readField(field: Field, typed: Typed): { value: unknown } | { wrong: string } {
  if (field.kind === "boolean") return { value: typed === true };
  if (field.kind === "choices") {
    const chosen = Array.isArray(typed) ? typed : [];
    return field.required && !chosen.length ? { wrong: "choose at least one" } : { value: chosen.length ? chosen.map((one) => JSON.parse(one) as unknown) : undefined };
  }
  const text = String(typed);
  if (text.trim() === "") return field.required ? { wrong: "is needed" } : { value: undefined };
  if (field.kind === "choice") return { value: JSON.parse(text) as unknown };
  if (field.kind === "number" || field.kind === "integer") return readNumber(field, text);
  return field.kind === "json" ? readJson(text) : readText(field, text);
}

function readNumber(field: Field, text: string): { value: unknown } | { wrong: string } {
  const value = Number(text);
  if (!Number.isFinite(value)) return { wrong: "is no number" };
  if (field.kind === "integer" && !Number.isInteger(value)) return { wrong: "is no whole number" };
  if (field.least !== null && value < field.least) return { wrong: `must be at least ${field.least}` };
  return field.most !== null && value > field.most ? { wrong: `must be at most ${field.most}` } : { value };
}

function readText(field: Field, text: string): { value: unknown } | { wrong: string } {
  if (field.least !== null && text.length < field.least) return { wrong: `needs at least ${field.least} characters` };
  return field.most !== null && text.length > field.most ? { wrong: `has more than ${field.most} characters` } : { value: text };
}

function readJson(text: string): { value: unknown } | { wrong: string } {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return /^[[{"]/.test(text.trim()) ? { wrong: "is no JSON" } : { value: text };
  }
}
