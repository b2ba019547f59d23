/** Tasks are moved under another: nothing is done before it was shown what moves, and the last act can be taken back. */
import { useEffect, useState } from "react";
import { api } from "../api/client";
import type { Move, Preview } from "../api/types.gen";
import { count } from "../state/format";
import type { Moved } from "../state/moving";
import { candidates, carryOut, going, takeBack, told } from "../state/moving";
import type { Run } from "../state/run";
import { NO_PROMPT } from "../state/sources";
import { firstLine } from "../state/text";
import type { Tree } from "../state/tree";
import { Dialog } from "../ui/Dialog";
import { asApiError } from "../ui/hooks";

interface Properties {
  ids: string[];
  tree?: Tree | null;
  /** A parent that was chosen already, by dragging. */
  target?: string | undefined;
  unlink: boolean;
  done: (moved: Moved) => void;
}

export function MoveForm({ ids, tree = null, target = "", unlink, done }: Properties) {
  const [words, type] = useState(target);
  const [preview, show] = useState<Preview | null>(null);
  const [problem, trouble] = useState("");
  const told = (error: unknown) => trouble(`${asApiError(error).message}. ${asApiError(error).hint}`);
  const ask = async (parent: string) => {
    trouble("");
    try {
      show(await api.preview(ids, parent));
    } catch (error) {
      show(null);
      told(error);
    }
  };
  const confirm = async (chosen: Preview) => {
    const moves: Move[] = [];
    try {
      done(await carryOut(api, chosen, moves));
      type("");
    } catch (error) {
      told(error);
      if (moves.length) done({ words: `Only ${count(moves.length, "task")} of ${going(chosen).length} moved.`, moves });
    }
    show(null);
  };
  useEffect(() => {
    if (target) void ask(target);
  }, []);
  return (
    <div className="relink">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void ask(words.trim());
        }}
      >
        <label>
          belongs under <input autoFocus={tree !== null} value={words} onChange={(event) => type(event.target.value)} placeholder={tree ? "words of a task, or any id" : "id of a task or tool call"} />
        </label>
        <button type="submit" disabled={!words.trim()}>
          Re-link
        </button>
        {unlink && (
          <button type="button" onClick={() => void ask("")}>
            Unlink
          </button>
        )}
      </form>
      {!preview && (
        <ul className="candidates">
          {candidates(tree, words, ids).map((node) => (
            <li key={node.id}>
              <button
                type="button"
                className="quiet"
                onClick={() => {
                  type(node.id);
                  void ask(node.id);
                }}
              >
                {node.agent && <span className="agent">{firstLine(node.agent, 30)}</span>} {firstLine(node.title || NO_PROMPT, 70)}
              </button>
            </li>
          ))}
        </ul>
      )}
      {preview && <Confirm preview={preview} yes={() => void confirm(preview)} no={() => show(null)} />}
      {problem && (
        <p className="trouble-line error" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

function Confirm({ preview, yes, no }: { preview: Preview; yes: () => void; no: () => void }) {
  const moves = going(preview);
  const refused = preview.moves.filter((move) => move.refused !== null);
  return (
    <div className="confirm" role="alertdialog" aria-label="confirm">
      {moves.length > 0 && (
        <p>
          This would move {told(preview)}. It outlives every rebuild.
        </p>
      )}
      {refused.map((move) => (
        <p key={move.child} className="trouble-line error" role="alert">
          “{firstLine(move.title || NO_PROMPT, 60)}” stays: {firstLine(move.refused ?? "", 200)}
        </p>
      ))}
      {moves.length > 0 && (
        <button type="button" autoFocus onClick={yes}>
          {moves.length > 1 ? "Move them" : preview.parent ? "Move it" : "Unlink it"}
        </button>
      )}
      <button type="button" className="quiet" onClick={no}>
        no
      </button>
    </div>
  );
}

/** The last act of this page, for as long as it is open. */
export function Undo({ moved, done }: { moved: Moved; done: () => void }) {
  const [problem, trouble] = useState("");
  const undo = async () => {
    try {
      await takeBack(api, moved);
      done();
    } catch (error) {
      trouble(asApiError(error).message);
    }
  };
  return (
    <p role="status" className="note quiet-note">
      {moved.words}{" "}
      <button type="button" className="quiet" onClick={() => void undo()}>
        undo
      </button>
      {problem && <span className="error"> {problem}</span>}
    </p>
  );
}

/** Opened by `m`, by a button, or by dragging rows onto another. */
export function MoveDialog({ run, ids, target, close }: { run: Run; ids: string[]; target: string | undefined; close: () => void }) {
  const titles = ids.map((id) => firstLine(run.tree?.nodes.get(id)?.title || NO_PROMPT, 60));
  return (
    <Dialog label="move tasks" close={close}>
      <h2>Move {ids.length === 1 ? "this task" : count(ids.length, "task")}</h2>
      <ul className="moving">
        {titles.slice(0, 6).map((title, at) => (
          <li key={ids[at]}>{title}</li>
        ))}
        {titles.length > 6 && <li>and {titles.length - 6} more</li>}
      </ul>
      <MoveForm
        ids={ids}
        tree={run.tree}
        target={target}
        unlink={ids.some((id) => run.tree?.nodes.get(id)?.parent)}
        done={(moved) => {
          run.keepMoved(moved);
          close();
        }}
      />
      <button type="button" className="quiet" onClick={close}>
        close
      </button>
    </Dialog>
  );
}
