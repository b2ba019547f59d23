/** Parts of messages and artifacts, drawn: text, JSON as a tree, pictures in place, files to save. Nothing of it is run or loaded. */
import { bytes } from "../state/format";
import type { CapturedFile, Piece } from "../state/pieces";
import { blobOf, fileName } from "../state/pieces";
import { firstLine, readable, visible } from "../state/text";
import { Json, Words } from "./Payload";
import { SchemaForm } from "./SchemaForm";
import { Copy } from "./Text";

export function Pieces({ pieces, lines = 40 }: { pieces: Piece[]; lines?: number }) {
  return pieces.map((piece, at) => <OnePiece key={at} piece={piece} lines={lines} />);
}

function OnePiece({ piece, lines }: { piece: Piece; lines: number }) {
  switch (piece.kind) {
    case "text":
      return <Words text={piece.text} lines={lines} />;
    case "data":
      return (
        <div className="data-piece">
          {piece.component && <span className="chip">component {firstLine(piece.component, 40)}, shown as data</span>}
          <Json value={piece.value} label={piece.component || "data"} />
          <Copy text={() => readable(piece.value)} />
          {piece.schema && (
            <div className="shown-form">
              <p className="faint">The form that its schema describes:</p>
              <SchemaForm schema={piece.schema} />
            </div>
          )}
        </div>
      );
    case "picture":
      return (
        <figure className="picture-piece">
          <img className="captured" alt={piece.file.name ? `picture ${firstLine(piece.file.name, 80)}` : "picture that was captured"} src={`data:${piece.picture.type};base64,${piece.picture.data}`} />
          <FileLine file={piece.file} />
        </figure>
      );
    case "file":
      return <FileLine file={piece.file} />;
  }
}

function FileLine({ file }: { file: CapturedFile }) {
  return (
    <p className="file-line">
      <span aria-hidden="true">🗎</span> <b>{firstLine(file.name || "unnamed file", 80)}</b>
      {file.type && <span className="faint">{firstLine(file.type, 60)}</span>}
      {file.bytes !== null && <span className="faint">{bytes(file.bytes)}</span>}
      {file.data !== null && (
        <button type="button" className="quiet" onClick={() => saveFile(file)}>
          download
        </button>
      )}
      {file.url && <code className="address">{visible(file.url).slice(0, 300)}</code>}
      {file.url && <Copy text={file.url} label="copy address" />}
    </p>
  );
}

function saveFile(file: CapturedFile): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blobOf(file.data ?? ""));
  link.download = fileName(file);
  link.click();
  URL.revokeObjectURL(link.href);
}
