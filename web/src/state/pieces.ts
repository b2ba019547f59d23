/** Parts of messages and artifacts that agents send each other: text, data, files. An address is told, never loaded. */
import type { Picture } from "./payload";
import { pictureOf } from "./payload";

export interface CapturedFile {
  name: string;
  type: string;
  /** Its bytes in base64, where they came along. */
  data: string | null;
  bytes: number | null;
  url: string | null;
}

export type Piece =
  | { kind: "text"; text: string }
  | { kind: "data"; value: unknown; schema: Record<string, unknown> | null; component: string }
  | { kind: "picture"; picture: Picture; file: CapturedFile }
  | { kind: "file"; file: CapturedFile };

type Shape = Record<string, unknown>;

const isShape = (value: unknown): value is Shape => typeof value === "object" && value !== null && !Array.isArray(value);
const word = (value: unknown): string => (typeof value === "string" ? value : "");
const BASE64 = /^[A-Za-z0-9+/\s_-]*={0,2}\s*$/;

/** Neighbouring texts are one: a text that grows comes in many parts. `between` stands between those of a message. */
export function piecesOf(parts: unknown[], between = ""): Piece[] {
  const found: Piece[] = [];
  for (const part of parts) {
    const piece = pieceOf(part);
    const last = found.at(-1);
    if (piece.kind === "text" && last?.kind === "text") last.text += between + piece.text;
    else if (piece.kind !== "text" || piece.text) found.push(piece);
  }
  return found.filter((piece) => piece.kind !== "text" || piece.text.trim() !== "");
}

function pieceOf(part: unknown): Piece {
  if (!isShape(part)) return { kind: "data", value: part, schema: null, component: "" };
  if (typeof part.text === "string") return { kind: "text", text: part.text };
  if (["raw", "url", "file"].some((field) => field in part)) return filed(fileOf(part));
  if (!("data" in part)) return { kind: "data", value: part, schema: null, component: "" };
  return { kind: "data", value: part.data, schema: schemaOf(part), component: componentOf(part.data) };
}

/** In the words of either version of A2A, and of a mesh. */
function fileOf(part: Shape): CapturedFile {
  const inner = isShape(part.file) ? part.file : part;
  const data = word(inner.raw) || word(inner.bytes) || word(inner.fileWithBytes);
  return {
    name: word(inner.filename) || word(inner.name),
    type: word(inner.mediaType) || word(inner.mimeType),
    data: data && BASE64.test(data) ? data : null,
    bytes: data && BASE64.test(data) ? sizeOf(data) : null,
    url: word(inner.url) || word(inner.uri) || word(inner.fileWithUri) || null,
  };
}

const sizeOf = (base64: string): number => Math.floor((base64.replace(/[\s=]/g, "").length * 3) / 4);

function filed(file: CapturedFile): Piece {
  const [picture] = pictureOf({ type: "image", mimeType: file.type, data: file.data });
  return picture ? { kind: "picture", picture, file } : { kind: "file", file };
}

/** The JSON Schema that comes with a part, where there is one. */
export function schemaOf(part: unknown): Shape | null {
  const metadata = isShape(part) && isShape(part.metadata) ? part.metadata : {};
  if (isShape(metadata.schema)) return metadata.schema;
  const data = isShape(part) && isShape(part.data) ? part.data : {};
  return isShape(data.schema) ? data.schema : null;
}

/** What draws it elsewhere. Here no foreign code runs: it is shown as data. */
function componentOf(data: unknown): string {
  return isShape(data) ? word(data.component) || word(data.componentName) : "";
}

/** The bytes as a file to save: always of a type that no browser runs. */
export function blobOf(data: string): Blob {
  const text = atob(data.replace(/\s/g, "").replace(/-/g, "+").replace(/_/g, "/"));
  return new Blob([Uint8Array.from(text, (character) => character.charCodeAt(0))], { type: "application/octet-stream" });
}

/** A name that stays in the folder it is saved to. */
export const fileName = (file: CapturedFile): string => file.name.replace(/[^\w.() -]+/g, "_").replace(/^\.+/, "").slice(0, 120) || "file";
